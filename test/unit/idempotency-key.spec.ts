import { MalformedKey, parseIdempotencyKey } from '../../src/idempotency/idempotency-key.js';

describe('The value of Idempotency-Key', () => {
  it.each([
    ['"8e03978e-40d5-43e8-bc93-6894a57f9324"', '8e03978e-40d5-43e8-bc93-6894a57f9324'],
    [String.raw`"say \"hi\" \\ there"`, String.raw`say "hi" \ there`],
    ['" with, space; and comma "', ' with, space; and comma '],
  ])('may be a quoted string: %s [H-2]', (value, key) => {
    expect(parseIdempotencyKey(value)).toBe(key);
  });

  it.each(['order-1001:pay', 'k', '_k', '~k', '.k', '+k', '/k', '-k', 'a=b@c/d:e', '!k'.slice(1), 'YQ=='])(
    'may be bare, and names the same key as its quoted form: %s [H-3]',
    (key) => {
      expect(parseIdempotencyKey(key)).toBe(key);
      expect(parseIdempotencyKey(`"${key}"`)).toBe(key);
    },
  );

  it.each([
    '"k";a=1',
    '"k";a',
    '"k"; a=?1;b="x;y";c=tok;d=1.5',
    '"k";a=:YQ==:',
    '"k";*x=-3',
    '"k";t=@1659578233',
  ])('loses its parameters: %s [H-4]', (value) => {
    expect(parseIdempotencyKey(value)).toBe('k');
  });

  it.each([
    '"k',
    'k"',
    '"a"b"',
    '"k"x',
    '"k" ;a=1',
    '"k";',
    '"k";A=1',
    '"k";a=',
    '"k";a=1.2345',
    String.raw`"a\b"`,
    String.raw`"a\"`,
    '"tab\there"',
    '"füü"',
    '"\u007f"',
  ])('is refused when the quoted form is malformed: %s [H-5]', (value) => {
    expect(() => parseIdempotencyKey(value)).toThrow(MalformedKey);
  });

  it.each(['', '""'])('is refused when it is empty: (%s) [H-6]', (value) => {
    expect(() => parseIdempotencyKey(value)).toThrow(MalformedKey);
  });

  it('has up to 255 characters, counted unquoted [H-7]', () => {
    const longest = 'k'.repeat(255);
    expect(parseIdempotencyKey(longest)).toBe(longest);
    expect(parseIdempotencyKey(`"${longest}"`)).toBe(longest);
    expect(parseIdempotencyKey(`"${String.raw`\"`.repeat(255)}"`)).toBe('"'.repeat(255));
    expect(() => parseIdempotencyKey(`${longest}k`)).toThrow(/256 characters/);
    expect(() => parseIdempotencyKey(`"${longest}k"`)).toThrow(MalformedKey);
  });

  it.each([
    'a b',
    'a, b',
    'a;b',
    'a"b',
    String.raw`a\b`,
    'fÃ¼Ã¼',
    '*k',
    ':k',
    '@k',
    '=k',
    '(a)',
    '{a}',
    '?1',
  ])('is refused when a bare key has a character that it may not have: %s [H-9]', (value) => {
    expect(() => parseIdempotencyKey(value)).toThrow(MalformedKey);
  });

  it('is compared byte for byte: numbers are text, and case counts [H-10]', () => {
    const keys = ['123', '0123', '123.0', 'abc', 'ABC'].map(parseIdempotencyKey);
    expect(new Set(keys).size).toBe(5);
  });

  it('needs not be a UUID [H-12]', () => {
    expect(parseIdempotencyKey('1')).toBe('1');
  });
});
