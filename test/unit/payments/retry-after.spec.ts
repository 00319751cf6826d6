import { retryAfterSeconds } from '../../../src/payments/retry-after.js';

/** Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110. */
const NOW = Date.UTC(1994, 10, 6, 8, 49, 37);

const seconds = (value: string, headers: Record<string, unknown> = {}) =>
  retryAfterSeconds({ 'retry-after': value, ...headers }, NOW);

describe('A Retry-After of the provider', () => {
  it.each([
    ['1', 1],
    ['120', 120],
    [' 7 ', 7],
    ['1000000000', 1e9],
    ['Sun, 06 Nov 1994 08:50:07 GMT', 30],
    ['Sunday, 06-Nov-94 08:50:07 GMT', 30],
  ])('%j asks us to stay away for %d seconds', (value, expected) => {
    expect(seconds(value)).toBe(expected);
  });

  it.each([
    '0',
    '-5',
    '1.5',
    '1e9',
    '0x10',
    '12 seconds',
    '9'.repeat(400),
    '',
    'soon',
    '2026-01-01',
    'Sun, 99 Nov 1994 08:50:07 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Sat, 05 Nov 1994 08:49:37 GMT',
  ])('%j asks for nothing', (value) => {
    expect(seconds(value)).toBeUndefined();
  });

  it('that is a date counts from the clock that made it, however wrong ours is', () => {
    const value = 'Sun, 06 Nov 1994 10:00:20 GMT';
    expect(seconds(value, { date: 'Sun, 06 Nov 1994 10:00:00 GMT' })).toBe(20);
    expect(seconds(value, { date: 'who knows' })).toBe(4243);
  });

  it('that is not there asks for nothing', () => {
    for (const headers of [undefined, {}, { 'retry-after': ['1', '2'] }])
      expect(retryAfterSeconds(headers)).toBeUndefined();
  });
});
