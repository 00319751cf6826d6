import { inParallel } from '../../../src/background/in-parallel.js';

describe('Work done in parallel', () => {
  it('takes every item once', async () => {
    const done: number[] = [];
    await inParallel(3, [1, 2, 3, 4, 5, 6, 7], async (item) => void done.push(item));
    expect(done.sort()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it('never has more under way than it may', async () => {
    let underWay = 0;
    let most = 0;
    await inParallel(3, Array.from({ length: 20 }), async () => {
      most = Math.max(most, ++underWay);
      await new Promise(setImmediate);
      underWay -= 1;
    });
    expect(most).toBe(3);
  });

  it('reports an error once everything else has ended', async () => {
    const done: number[] = [];
    const work = inParallel(2, [1, 2, 3, 4], async (item) => {
      if (item === 1) throw new Error('one');
      await new Promise(setImmediate);
      done.push(item);
    });
    await expect(work).rejects.toThrow('one');
    expect(done).toEqual([2, 3, 4]);
  });

  it('has nothing to do for no items', async () => {
    await expect(inParallel(3, [], () => Promise.reject(new Error('never')))).resolves.toBeUndefined();
  });
});
