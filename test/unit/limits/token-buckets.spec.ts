import { networkOf } from '../../../src/limits/network-of.js';
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

  it('is in debt for a second at most, whatever was spent elsewhere', () => {
    const buckets = new TokenBuckets(10, 100);
    buckets.spend('acme', 1_000_000);
    expect(buckets.take('acme')).toBeCloseTo(1.1);
    jest.advanceTimersByTime(1_100);
    expect(buckets.take('acme')).toBe(0);
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
    ['as it is where it is none', 'unix:', 'unix:'],
  ])('%s', (_name, address, network) => expect(networkOf(address)).toBe(network));

  it('apart from another network', () =>
    expect(networkOf('2001:db8:1:3::1')).not.toBe(networkOf('2001:db8:1:2::1')));
});
