import { backoffSeconds, MAX_ATTEMPTS } from '../../../src/outbox/backoff.js';

describe('The backoff of a failed message', () => {
  const longest = (attempts: number) => backoffSeconds(attempts, () => 1);

  it('doubles from one second up to four hours', () => {
    expect([1, 2, 3, 4, 14, 15, 16, 50].map(longest)).toEqual([1, 2, 4, 8, 8192, 14_400, 14_400, 14_400]);
  });

  it('is spread over the whole of that time', () => {
    expect(backoffSeconds(4, () => 0)).toBe(0);
    expect(backoffSeconds(4, () => 0.5)).toBe(4);
  });

  it('lets a message live over a weekend, on average', () => {
    const tries = Array.from({ length: MAX_ATTEMPTS - 1 }, (_, index) => longest(index + 1) / 2);
    const hours = tries.reduce((sum, seconds) => sum + seconds) / 3600;
    expect(hours).toBeGreaterThan(72);
    expect(hours).toBeLessThan(96);
  });
});
