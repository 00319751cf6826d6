import fc from 'fast-check';
import { resolved, type Schema } from './routes.js';

/** JSON as it stands, for what no value of JavaScript is written as: 1e400, half a pair, a member that comes twice. */
export class Raw {
  constructor(readonly text: string) {}
}

/** As JSON.stringify, but `Raw` stays as it is. */
export function written(value: unknown): string {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(written).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${written(member)}`).join(',')}}`;
}

/** Values that the schema allows, most of them as its examples have it. */
export function sound(given: Schema): fc.Arbitrary<unknown> {
  const schema = resolved(given);
  if (schema['enum']) return fc.constantFrom(...schema['enum']);
  switch (schema['type']) {
    case 'object':
      return soundObject(schema);
    case 'array':
      return fc.array(sound(schema['items']), { minLength: schema['minItems'] ?? 0, maxLength: 3 });
    case 'integer':
    case 'number':
      return soundNumber(schema);
    default:
      return soundText(schema);
  }
}

function soundObject({
  properties = {},
  required = [],
  additionalProperties,
}: Schema): fc.Arbitrary<unknown> {
  if (additionalProperties) return fc.dictionary(fc.string({ maxLength: 8 }), fc.string(), { maxKeys: 4 });
  const members = Object.entries<Schema>(properties).map(([name, schema]) => [name, sound(schema)] as const);
  return fc.record(Object.fromEntries(members), { requiredKeys: required, noNullPrototype: true });
}

function soundNumber({
  minimum: min = 0,
  maximum: max = 100_000,
  example = min,
}: Schema): fc.Arbitrary<unknown> {
  return mostly(example, [min, max], fc.integer({ min, max }));
}

const CURRENCIES = ['eur', 'usd', 'GBP', 'jpy', 'bhd'];

/** One to who counts what is seen; one or more to who counts what is stored. */
const CHARACTERS = ['a', 'é', '漢', '😀', 'a\ufe0f', '👍🏽'];

function soundText({ format, example, minLength = 0, maxLength = 40 }: Schema): fc.Arbitrary<unknown> {
  if (format === 'currency') return fc.constantFrom(...CURRENCIES);
  if (/^ord_/.test(example)) return fc.nat(200).map((number) => `ord_#${number}#`);
  const text = fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 300) });
  return mostly(
    example ?? 'x',
    CHARACTERS.map((character) => character.repeat(maxLength)),
    text,
  );
}

function mostly(example: unknown, limits: unknown[], others: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 36, arbitrary: fc.constant(example) },
    { weight: 2, arbitrary: fc.constantFrom(...limits) },
    { weight: 1, arbitrary: others },
  );
}

/** Text that has broken something somewhere. */
export const HOSTILE_TEXTS = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff\ud83d',
  '\u202egnirts\u202d',
  '\u200b\ufeff',
  '\u2028\u2029',
  'a\ufe0f'.repeat(255), // one character to who counts what is seen, two to who counts what is stored
  '😀'.repeat(255),
  'é'.repeat(256),
  'a'.repeat(5_000),
  'a\u0301'.repeat(128),
  '\r\nX-Injected: yes',
  "' OR 1=1; DROP TABLE orders --",
  '${jndi:ldap://x}{{7*7}}<script>',
  '../../../../etc/passwd',
  '%00%0d%0a',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'NaN',
  '[object Object]',
  '-0',
  '1e3',
  '0x10',
  '４２',
  'ada@example.com\u0000',
  `${'a'.repeat(64)}@${'b'.repeat(63)}.example`,
  '"Ada" <ada@example.com>',
  'ord_00000000000000000000000000',
  'ord_zzzzzzzzzzzzzzzzzzzzzzzzzz',
  'pm_card_visa\n',
  'pm_4242424242424242',
  '9'.repeat(400),
  '2026-02-30T25:61:61Z',
];

/** Members that must not reach the prototype of anything, nor be taken for what every object has. */
const INHERITED = ['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', 'then'];

const HOSTILE_JSON = [
  'null',
  'true',
  'false',
  '-1',
  '-0',
  '0',
  '0.5',
  '1.0',
  '1e0',
  '1e21',
  '1e400',
  '-1e-400',
  '9007199254740993',
  '2147483648',
  '9223372036854775808',
  '99999999',
  '100000000',
  '01',
  '+1',
  'NaN',
  'Infinity',
  'undefined',
  "'single'",
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u0000"',
  '"\\x"',
  '"a\tb"',
  '[]',
  '{}',
  '[[]]',
  '[null]',
  '{"length":1,"0":{}}',
  '{"$ne":null}',
  '{"toJSON":1}',
  '{"type":"Buffer","data":[1]}',
  `${'['.repeat(64)}${']'.repeat(64)}`,
  `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`,
  `[${'0,'.repeat(9_990)}0]`,
  `[${'{},'.repeat(101)}{}]`,
];

export const hostileText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 300 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 18, maxLength: 520 }) },
);

const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...HOSTILE_JSON).map((text) => new Raw(text)) },
  { weight: 4, arbitrary: hostileText },
  { weight: 1, arbitrary: fc.double({ noDefaultInfinity: true, noNaN: true }) },
  { weight: 1, arbitrary: fc.maxSafeInteger() },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

interface Fault {
  readonly kind: 'replace' | 'remove' | 'double' | 'add';
  readonly at: number;
  readonly name: string;
  readonly value: unknown;
}

const fault: fc.Arbitrary<Fault> = fc.record({
  kind: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'double', 'add'),
  at: fc.nat(1_000),
  name: fc.oneof(fc.constantFrom(...INHERITED), hostileText),
  value: hostileValue,
});

/** What the schema allows, broken in one to three places. */
export function tampered(schema: Schema): fc.Arbitrary<unknown> {
  return fc
    .tuple(sound(schema), fc.array(fault, { minLength: 1, maxLength: 3 }))
    .map(([value, faults]) => faults.reduce(broken, structuredClone(value)));
}

function broken(value: unknown, { kind, at, name, value: hostile }: Fault): unknown {
  const places = placesIn(value);
  const place = places[at % (places.length + 1)];
  if (!place) return kind === 'replace' ? hostile : value;
  const { holder, member } = place;
  if (kind === 'remove') delete holder[member];
  else if (kind === 'replace') holder[member] = hostile;
  else holder[member] = followed(holder, member, kind === 'double' ? member : name, hostile);
  return value;
}

interface Place {
  readonly holder: Record<string, unknown>;
  readonly member: string;
}

function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null || value instanceof Raw) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((member) => [{ holder, member }, ...placesIn(holder[member])]);
}

/** The member, and behind it another; as text, since no object has a name twice. */
function followed({ ...holder }: object, member: string, name: string, value: unknown): Raw {
  const own = written((holder as Record<string, unknown>)[member]);
  const another = Array.isArray(holder) || /^\d+$/.test(member) ? '' : `${JSON.stringify(name)}:`;
  return new Raw(`${own},${another}${written(value)}`);
}
