import type { Database } from '../../../src/database/transaction.js';
import { networkOf } from '../../../src/limits/network-of.js';
import { SharedUse } from '../../../src/limits/shared-use.js';
import { TokenBuckets } from '../../../src/limits/token-buckets.js';

const { jest } = import.meta;

describe('A bucket of tokens', () => {
  beforeEach(() => void jest.useFakeTimers({ now: 0 }));
  afterEach(() => void jest.useRealTimers());

  const takenOf = (buckets: TokenBuckets, name: string, times: number) =>
    Array.from({ length: times }, () => buckets.take(name)).filter((wait) => wait === 0).length;

  it('has a second’s worth at once, and then as many as a second brings', () => {
    const buckets = new TokenBuckets(10, 100);
    expect(takenOf(buckets, 'acme', 30)).toBe(10);
    jest.advanceTimersByTime(300);
    expect(takenOf(buckets, 'acme', 30)).toBe(3);
    jest.advanceTimersByTime(60_000);
    expect(takenOf(buckets, 'acme', 30)).toBe(10);
  });

  it('says how long to wait for the next', () => {
    const buckets = new TokenBuckets(10, 100);
    takenOf(buckets, 'acme', 10);
    expect(buckets.take('acme')).toBeCloseTo(0.1);
    jest.advanceTimersByTime(100);
    expect(buckets.take('acme')).toBe(0);
  });

  it('knows one name from another', () => {
    const buckets = new TokenBuckets(10, 100);
    takenOf(buckets, 'acme', 10);
    expect(takenOf(buckets, 'globex', 30)).toBe(10);
  });

  it('is in debt by what was spent elsewhere', () => {
    const buckets = new TokenBuckets(10, 100);
    buckets.spend('acme', 50);
    expect(buckets.take('acme')).toBeCloseTo(4.1);
    jest.advanceTimersByTime(4_100);
    expect(buckets.take('acme')).toBe(0);
  });

  it('is not in debt by what there would have been no room for', () => {
    const buckets = new TokenBuckets(10, 100);
    buckets.spend('acme', 0);
    jest.advanceTimersByTime(60_000);
    buckets.spend('acme', 600);
    expect(takenOf(buckets, 'acme', 30)).toBe(10);
    buckets.spend('acme', 600);
    expect(buckets.take('acme')).toBeCloseTo(30.1); // for half a minute at most
  });

  it.each([
    ['all the time', 25],
    ['in bursts', 3_200],
  ])('of each of six processes lets through no more in all than one would, %s', async (_how, everyMs) => {
    let used = 0;
    const query = async (_statement: unknown, [, [more]]: [string[], number[]]) => [
      { tenant: 'acme', used: (used += more!) },
    ];
    const processes = Array.from({ length: 6 }, () => {
      const buckets = new TokenBuckets(10, 100);
      const sharedUse = new SharedUse({ query } as unknown as Database);
      sharedUse.onUseElsewhere((...use) => buckets.spend(...use));
      return { buckets, sharedUse };
    });
    const requests = everyMs < 1_000 ? 1 : 10;
    let served = 0;
    for (let ms = 0; ms < 60_000; ms += everyMs) {
      for (const { buckets, sharedUse } of processes)
        for (let sent = 0; sent < requests; sent++)
          if (buckets.take('acme') === 0) {
            served += 1;
            sharedUse.note('acme');
          }
      await jest.advanceTimersByTimeAsync(everyMs);
    }
    const burst = 6 * 10; // nobody knows of the others in the first second
    expect(served).toBeLessThanOrEqual(60 * 10 + 2 * burst);
    expect(served).toBeGreaterThan(200);
  });

  it('is forgotten once there are too many, and those that are in use are not', () => {
    const buckets = new TokenBuckets(10, 3);
    takenOf(buckets, 'busy', 10);
    for (let stranger = 0; stranger < 100; stranger++) {
      buckets.take(`stranger ${stranger}`);
      expect(buckets.take('busy')).toBeGreaterThan(0);
    }
    expect(takenOf(buckets, 'stranger 0', 30)).toBe(10);
  });
});

describe('An address is counted', () => {
  it.each([
    ['by itself', '192.0.2.7', '192.0.2.7'],
    ['by itself where it is written as version 6', '::ffff:192.0.2.7', '192.0.2.7'],
    ['with its network in version 6', '2001:db8:1:2:aaaa::1', networkOf('2001:db8:1:2::ffff')],
    ['without the port that a proxy writes behind it', '192.0.2.7:50123', '192.0.2.7'],
    ['without it in version 6', '[2001:db8:1:2::1]:50123', networkOf('2001:db8:1:2::ffff')],
    ['without its interface', 'fe80::1%eth0', networkOf('fe80::2')],
    ['as it is where it is none', 'unix:', 'unix:'],
  ])('%s', (_name, address, network) => expect(networkOf(address)).toBe(network));

  it('apart from another network', () =>
    expect(networkOf('2001:db8:1:3::1')).not.toBe(networkOf('2001:db8:1:2::1')));
});
