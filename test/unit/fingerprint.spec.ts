import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { parseStrictJson } from '../../src/http/strict-json.js';
import { differences, fingerprint } from '../../src/idempotency/fingerprint.js';

const SECRET = 'a secret of at least thirty-two characters';

const of = (json: string, { method = 'POST', url = '/v1/orders', ignore = [] as string[] } = {}) =>
  fingerprint({ method, url, body: parseStrictJson(Buffer.from(json)) }, SECRET, ignore);

const same = (a: string, b: string) => differences(of(a), of(b)).length === 0;

describe('A fingerprint', () => {
  it('covers method, path, query and body, and says which scheme made it [F-1]', () => {
    const base = of('{}');
    expect(base.scheme).toBe(1);
    expect(base.hash).toHaveLength(32);
    expect(differences(base, of('{}', { method: 'PUT' }))).toEqual(['method']);
    expect(differences(base, of('{}', { url: '/v1/checkouts' }))).toEqual(['path']);
    expect(differences(base, of('{}', { url: '/v1/orders?a=1' }))).toEqual(['query']);
    expect(differences(base, of('{"a":1}'))).toEqual(['a']);
  });

  it.each([
    ['{"a":1,"b":2}', '{"b":2,"a":1}'],
    ['{"a":1,"b":{"c":1,"d":2}}', '{ "b" : {"d":2,\n"c":1}, "a": 1 }'],
    ['{"a":100}', '{"a":1e2}'],
    ['{"a":1}', '{"a":1.0}'],
    ['{"a":0}', '{"a":-0}'],
    ['{"a":"A"}', String.raw`{"a":"\u0041"}`],
    ['{"a":"/"}', String.raw`{"a":"\/"}`],
    ['{"a":1}', String.raw`{"\u0061":1}`],
  ])('is the same for other spellings of one body: %s and %s [F-2]', (a, b) => {
    expect(same(a, b)).toBe(true);
  });

  it.each([
    ['{"a":[1,2]}', '{"a":[2,1]}'],
    ['{"a":"1000"}', '{"a":1000}'],
    ['{"a":null}', '{}'],
    ['{"a":"usd"}', '{"a":"USD"}'],
    ['{"a":"\u00e9"}', '{"a":"e\u0301"}'],
    ['{"a":{}}', '{"a":[]}'],
    ['{}', '[]'],
    ['{"body":[]}', '[]'],
  ])('differs where the meaning may: %s and %s [F-3]', (a, b) => {
    expect(same(a, b)).toBe(false);
  });

  it('sorts names by UTF-16 code unit [F-4]', () => {
    expect(canonicalize({ '\ufb33': 1, '\u{1f600}': 2 })).toBe('{"\u{1f600}":2,"\ufb33":1}');
    expect(same('{"\ufb33":1,"\u{1f600}":2}', '{"\u{1f600}":2,"\ufb33":1}')).toBe(true);
  });

  /** RFC 8785, Appendix B: the bits of a double, and its text. */
  const NUMBERS: [bits: string, text: string][] = [
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ];

  it.each(NUMBERS)('writes numbers as ECMAScript does: %s is %s [F-5]', (bits, text) => {
    expect(canonicalize(Buffer.from(bits, 'hex').readDoubleBE())).toBe(text);
  });

  it.each(['7fffffffffffffff', '7ff0000000000000'])('has no text for what is no number: %s [F-5]', (bits) => {
    expect(() => canonicalize(Buffer.from(bits, 'hex').readDoubleBE())).toThrow();
  });

  it('reads the text of any double back as that double [F-5]', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(Number(canonicalize(number))).toBe(number === 0 ? 0 : number);
      }),
      { numRuns: 10_000 },
    );
  });

  it('escapes control characters in one way, and nothing else but quotes and backslashes [F-6]', () => {
    const escaped = canonicalize('\b\t\n\f\r\u0001\u001f"\\/\u007f\u2028é');
    expect(escaped).toBe(String.raw`"\b\t\n\f\r\u0001\u001f\"\\/` + '\u007f\u2028é"');
  });

  it('keeps absent and default apart: it covers what was sent [F-11]', () => {
    expect(same('{"quantity":1}', '{}')).toBe(false);
  });

  it('takes no body and {} for the same request [F-12]', () => {
    expect(differences(of(''), of('{}'))).toEqual([]);
  });

  it('compares query parameters decoded, in any order of names, in the order within a name [F-13]', () => {
    const query = (text: string) => of('{}', { url: `/v1/orders?${text}` });
    expect(differences(query('a=1&b=x%20y'), query('b=x+y&a=1'))).toEqual([]);
    expect(differences(query('a=1&a=2'), query('a=2&a=1'))).toEqual(['query']);
  });

  it('keeps hashes only, keyed where a value could be guessed [F-14]', () => {
    const { members } = of('{"amount":1700}');
    expect(Object.keys(members)).toEqual(['method', 'path', 'query', '/amount']);
    expect(JSON.stringify(members)).not.toContain('1700');
    const unkeyed = createHash('sha256').update('/amount\u00001700').digest().toString('base64url', 0, 6);
    expect(members['/amount']).not.toBe(unkeyed);
    const otherSecret = fingerprint(
      { method: 'POST', url: '/v1/orders', body: { amount: 1700 } },
      `${SECRET}!`,
    );
    expect(otherSecret.members['/amount']).not.toBe(members['/amount']);
  });

  it('leaves out the members that a route names', () => {
    const at = (time: string) => of(`{"a":1,"clientSentAt":"${time}"}`, { ignore: ['/clientSentAt'] });
    expect(differences(at('2026-01-01T00:00:00Z'), at('2026-01-01T00:00:05Z'))).toEqual([]);
  });

  it('does not take a member for a part of the request of the same name', () => {
    expect(differences(of('{"method":"POST"}'), of('{"path":"POST"}')).sort()).toEqual(['method', 'path']);
    expect(same('{"method":"POST"}', '{}')).toBe(false);
  });

  it('tells any two different bodies apart, and no two equal ones', () => {
    const canonical = (value: unknown) => canonicalize(value) ?? '';
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const request = (body: unknown) => fingerprint({ method: 'POST', url: '/', body }, SECRET);
        expect(differences(request(a), request(b)).length === 0).toBe(canonical(a) === canonical(b));
      }),
      { numRuns: 500 },
    );
  });
});
