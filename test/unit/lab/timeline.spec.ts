import { Timeline } from '../../../src/sandbox/lab/timeline.js';

describe('The timeline of the lab', () => {
  const at = (...times: number[]) => times.map((time) => ({ at: time }));

  it('tells in the order in which things happened, whoever told of them first', () => {
    const timeline = new Timeline();
    timeline.add(...at(30, 10));
    timeline.add(...at(20));
    expect(timeline.release(10_000)).toEqual(at(10, 20, 30));
    expect(timeline.isEmpty).toBe(true);
  });

  it('keeps back what is so new that something earlier may still be told', () => {
    const timeline = new Timeline();
    timeline.add(...at(1_000, 9_990));
    expect(timeline.release(10_000)).toEqual(at(1_000));
    timeline.add(...at(9_980));
    expect(timeline.isEmpty).toBe(false);
    expect(timeline.release(20_000)).toEqual(at(9_980, 9_990));
  });
});
