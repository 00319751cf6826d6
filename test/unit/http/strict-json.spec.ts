import fc from 'fast-check';
import { Problem } from '../../../src/http/problem.js';
import { hasCardNumber } from '../../../src/http/card-numbers.js';
import { parseStrictJson } from '../../../src/http/strict-json.js';

const parse = (text: string) => parseStrictJson(Buffer.from(text));

function refusalOf(body: string | Buffer): Problem {
  try {
    parseStrictJson(Buffer.from(body as string));
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('accepted');
}

function isHarmless(value: unknown): boolean {
  if ((typeof value === 'number' || typeof value === 'string') && hasCardNumber(String(value))) return false;
  if (typeof value === 'number') return Number.isSafeInteger(value) || !Number.isInteger(value);
  if (typeof value === 'string') return !value.includes('\0');
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(
    ([name, member]) => isHarmless(name) && !(name in Object.prototype) && isHarmless(member),
  );
}

describe('The strict JSON parser', () => {
  it('reads whatever JSON.stringify writes as JSON.parse does, where a double can hold its numbers', () => {
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: 'medium', maxDepth: 20 }), (value) => {
        fc.pre(isHarmless(value));
        const text = JSON.stringify(value);
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes no body for an empty object [F-12]', () => {
    expect(parse('')).toEqual({});
  });

  it.each([
    ['1.0', 1],
    ['1e2', 100],
    ['-0', -0],
    ['0.1', 0.1],
    ['9007199254740991', 9007199254740991],
    ['-9007199254740991', -9007199254740991],
    ['1.50e0', 1.5],
    ['5e-324', 5e-324],
  ])('takes the number %s', (text, value) => {
    expect(parse(text)).toBe(value);
  });

  it.each([
    '9007199254740992',
    '-9007199254740992',
    '9007199254740993',
    '123456789012345678901234567890',
    '1e16',
  ])('refuses the integer %s, beyond what a double holds [F-7]', (number) => {
    const { details } = refusalOf(`{"amount":${number}}`);
    expect(details).toMatchObject({ status: 400, code: 'invalid_json', param: 'amount' });
    expect(details.detail).toContain(number);
  });

  it.each(['1e400', '-1e400', '1e-400', '0.1234567890123456789', '1.00000000000000000001'])(
    'refuses the number %s, which would overflow, vanish or lose digits [F-7]',
    (number) => {
      expect(refusalOf(`{"items":[{"amount":1},{"amount":${number}}]}`).details.param).toBe(
        'items[1].amount',
      );
    },
  );

  it.each([
    ['{"amount":1,"amount":2}', 'amount'],
    ['{"amount":1,"amount":1}', 'amount'],
    ['{"amount":1,"\\u0061mount":1}', 'amount'],
    ['{"items":[{},{"sku":"a","n":{"x":[1]},"sku":"b"}]}', 'items[1].sku'],
    ['{"":1,"":2}', undefined],
  ])('refuses a member that appears twice, also where an escape hides it: %s [F-7]', (text, param) => {
    const { details } = refusalOf(text);
    expect(details.detail).toMatch(/appears twice/);
    expect(details.param).toBe(param);
  });

  it('lets the same name appear in different objects', () => {
    expect(parse('{"a":{"a":[{"a":1},{"a":1}]}}')).toEqual({ a: { a: [{ a: 1 }, { a: 1 }] } });
  });

  it('finds a duplicate wherever it hides, and nothing where there is none [F-7]', () => {
    const names = fc.array(fc.constantFrom('a', 'b', 'c', '\u00e9', '"', '\\', '\ud83d\ude00'), {
      maxLength: 5,
    });
    fc.assert(
      fc.property(names, fc.integer({ min: 0, max: 10 }), (members, depth) => {
        const object = `{${members.map((name) => `${JSON.stringify(name)}:[1,"x"]`).join(',')}}`;
        const text = '[0,{"k":'.repeat(depth) + object + '}]'.repeat(depth);
        const duplicated = new Set(members).size < members.length;
        if (duplicated) expect(refusalOf(text).details.detail).toMatch(/appears twice/);
        else expect(parse(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    '{"a":"\\ud800"}',
    '{"a":"\\udc00"}',
    '{"a":"x\\ud83dx"}',
    '{"a":["\\udc00\\ud800"]}',
    '{"\\ud800":1}',
  ])('refuses half of a surrogate pair: %s [F-7]', (text) => {
    expect(refusalOf(text).details.detail).toMatch(/surrogate/);
  });

  it('takes a whole surrogate pair', () => {
    expect(parse('{"a":"\\ud83d\\ude00"}')).toEqual({ a: '😀' });
  });

  it.each([
    ['a stray continuation byte', Buffer.from([0x22, 0x80, 0x22])],
    ['an overlong slash', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['a cut character', Buffer.from([0x22, 0xe2, 0x82, 0x22])],
    ['UTF-16', Buffer.from('\ufeff{}', 'utf16le')],
  ])('refuses %s as invalid UTF-8 [F-7]', (_name, bytes) => {
    expect(refusalOf(bytes).details.detail).toMatch(/UTF-8/);
  });

  it('refuses a byte order mark instead of dropping it', () => {
    expect(refusalOf('\ufeff{}').details.detail).toMatch(/not valid JSON/);
  });

  it.each(['{"a":"\\u0000"}', '{"a":["x\\u0000y"]}', '{"\\u0000":1}'])('refuses U+0000: %s [F-8]', (text) => {
    expect(refusalOf(text).details).toMatchObject({ status: 400, code: 'invalid_json' });
    expect(refusalOf(text).details.detail).toMatch(/U\+0000/);
  });

  it('takes 64 levels and refuses 65 [F-16]', () => {
    expect(parse('['.repeat(64) + ']'.repeat(64))).toBeInstanceOf(Array);
    expect(refusalOf('['.repeat(65) + ']'.repeat(65)).details.detail).toMatch(/deeper than 64/);
    expect(refusalOf('{"a":'.repeat(65) + '1' + '}'.repeat(65)).details.detail).toMatch(/deeper than 64/);
  });

  it.each([
    ['numbers', '1', 1],
    ['strings', '"a,[{"', 1],
    ['objects with a member', '{"a":1}', 2],
    ['lists, an empty one being as dear as one of one', '[]', 2],
  ])('takes ten thousand values and refuses more: %s', (_what, value, worth) => {
    const list = (values: number) => `[${Array.from({ length: values / worth }, () => value).join(',')}]`;
    expect(parse(list(9_998))).toHaveLength(9_998 / worth); // and the list itself
    expect(refusalOf(list(10_000)).details).toMatchObject({ code: 'invalid_json', status: 400 });
    expect(refusalOf(list(10_000)).details.detail).toMatch(/more than 10000 values/);
  });

  it('refuses as many brackets as a body can hold without running out of stack [F-16]', () => {
    const half = 128 * 1024;
    expect(refusalOf('['.repeat(half) + ']'.repeat(half)).details.status).toBe(400);
    expect(refusalOf('{"a":'.repeat(half / 3)).details.status).toBe(400);
  });

  it('lets no body reach the prototype of anything', () => {
    expect(refusalOf('{"__proto__":{"admin":true}}').details.param).toBe('__proto__');
    expect(refusalOf('{"a":[{"toString":null}]}').details.param).toBe('a[0].toString');
    expect(refusalOf('{"a":{"\\u005f_proto__":1}}').details.param).toBe('a.__proto__');
    expect(Object.prototype).not.toHaveProperty('admin');
  });

  it.each([
    '{',
    '{"a":}',
    '{a:1}',
    "{'a':1}",
    '[1,]',
    '01',
    '+1',
    '.5',
    'NaN',
    'undefined',
    ' ',
    '{} {}',
    '"\t"',
  ])('refuses what is not JSON: %s', (text) => {
    expect(refusalOf(text).details).toMatchObject({ status: 400, code: 'invalid_json' });
  });

  it('answers any bytes with a value or a problem, never with another error', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), fc.string({ unit: 'binary' }).map(Buffer.from)), (bytes) => {
        try {
          parseStrictJson(Buffer.from(bytes as Uint8Array));
        } catch (error) {
          expect(error).toBeInstanceOf(Problem);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
