import fc from 'fast-check';
import { gzipSync } from 'node:zlib';
import { ACME } from '../support/start-api.js';
import { OPERATORS } from '../support/operator.js';
import { hmac, secondsNow } from '../support/webhooks.js';
import { kindOfId, takesKey, type Parameter, type Route, type Schema } from './routes.js';
import { HOSTILE_TEXTS, hostileText, sound, tampered, written } from './values.js';

/** A request before its ids are filled in. */
export interface Draft {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Where the body is signed as the provider signs. */
  readonly signed: boolean;
}

type Headers = Draft['headers'];

/** Stands for an id that there is, of an order, a charge …; the number says which. */
const ID = /(ord|ch|re|rev|msg)_#(\d{1,4})#/g;

/** What the provider tells us, which docs/openapi.json leaves to the provider's own. */
const EVENT: Schema = {
  type: 'object',
  required: ['id', 'type', 'data'],
  properties: {
    id: { type: 'string', minLength: 1, maxLength: 255 },
    type: {
      enum: ['payment_intent.succeeded', 'payment_intent.canceled', 'refund.updated', 'refund.failed'],
    },
    created: { type: 'integer' },
    data: {
      type: 'object',
      required: ['object'],
      properties: {
        object: {
          type: 'object',
          required: ['id', 'amount', 'currency', 'status', 'metadata'],
          properties: {
            id: { type: 'string', example: 'pi_1' },
            amount: { type: 'integer' },
            amount_received: { type: 'integer' },
            currency: { format: 'currency' },
            status: { enum: ['succeeded', 'processing', 'requires_action', 'canceled', 'failed'] },
            metadata: {
              type: 'object',
              required: ['tenant_id'],
              properties: {
                tenant_id: { type: 'string', example: 'acme' },
                order_id: { type: 'string', example: 'ord_#0#' },
                charge_id: { type: 'string', example: 'ch_#0#' },
                refund_id: { type: 'string', example: 're_#0#' },
              },
            },
          },
        },
      },
    },
  },
};

/** Sound requests of the route, and requests that are wrong in any of their parts. */
export function requestsOf(route: Route): fc.Arbitrary<Draft> {
  const body = bodyOf(route);
  return fc
    .record({
      method: rarely(otherMethod, fc.constant(route.method)),
      path: pathOf(route),
      query: queryOf(route),
      door: doorOf(route),
      key: takesKey(route) ? soundOr(soundKey, hostileKey) : rarely(soundKey, nothing),
      ifMatch: ifMatchOf(route),
      extra: rarely(fc.subarray(EXTRA_HEADERS), nothing),
      content: body,
      signed: rarely(fc.constant(false), fc.constant(route.door === 'signature')),
    })
    .map(({ method, path, query, door, key, ifMatch, extra, content, signed }) => ({
      method,
      target: path + query,
      headers: [...door, ...key, ...ifMatch, ...extra, ...content.headers],
      body: content.bytes,
      signed,
    }));
}

/** @param ids what there is, by prefix */
export function filledIn(text: string, ids: Readonly<Record<string, readonly string[]>>): string {
  return text.replace(
    ID,
    (_match, kind: string, number: string) => pick(ids[kind], Number(number)) ?? `${kind}_none`,
  );
}

function pick(ids: readonly string[] = [], number: number): string | undefined {
  return ids[number % ids.length];
}

/** As it goes over the wire. Its end is the connection's end, so that nothing that follows can be mistaken. */
export function bytesOf(draft: Draft, ids: Readonly<Record<string, readonly string[]>>): Buffer {
  const { method, headers, signed } = draft;
  const body = Buffer.from(filledIn(draft.body.toString('latin1'), ids), 'latin1');
  const time = secondsNow();
  const lines = [
    `${method} ${filledIn(draft.target, ids)} HTTP/1.1`,
    'Host: checkout.example',
    'Connection: close',
    ...(signed ? [`Stripe-Signature: t=${time},v1=${hmac(body, time)}`] : []),
    ...(body.length > 0 || method === 'POST' || method === 'PUT' ? [`Content-Length: ${body.length}`] : []),
    ...headers.map(([name, value]) => `${name}: ${filledIn(value, ids)}`),
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

/** Whatever a header may hold but the end of its line. */
const headerText = fc
  .string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)), maxLength: 300 })
  .map((text) => text.replace(/[\r\n]/g, ''));

const nothing: fc.Arbitrary<never[]> = fc.constant<never[]>([]);

const soundOr = <T>(good: fc.Arbitrary<T>, bad: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: good }, { weight: 1, arbitrary: bad });

const rarely = <T>(odd: fc.Arbitrary<T>, usual: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 24, arbitrary: usual }, { weight: 1, arbitrary: odd });

const otherMethod = fc.constantFrom(
  ...[
    'GET',
    'HEAD',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'PURGE',
    'QUERY',
    'get',
    'FOO',
    'G@T',
  ],
);

function pathOf(route: Route): fc.Arbitrary<string> {
  const kind = kindOfId(route);
  const place = fc.nat(200).map((number) => `${kind}_#${number}#`);
  const name = fc.oneof(fc.constantFrom('basket-1001', 'basket-1002'), hostileText.map(encoded));
  const part = soundOr(kind ? place : name, hostilePart);
  return fc.tuple(part, rarely(oddPath, fc.constant(undefined))).map(([filling, odd]) => {
    const path = route.path.replace(/\{\w+\}/, () => filling);
    return odd ? odd(path) : path;
  });
}

/** Percent-encoded as it is, half pairs too: no library would. */
function encoded(text: string): string {
  return [...Buffer.from(text, 'utf8')].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

const hostilePart = fc.oneof(
  hostileText.map(encoded),
  fc.constantFrom(
    ...['%', '%ZZ', '%00', '%ED%A0%80', '%C0%AF', '%2e%2e%2f', '..', '.', ';x=1', 'a%2Fb', '__proto__', '*'],
    ...['a'.repeat(4_000), '%F0%9F%98%80'.repeat(255), '{id}', ':id', '\x80\xff', "'", '"', '|', '\\', '^'],
  ),
);

const oddPath = fc.constantFrom<(path: string) => string>(
  (path) => `/${path}`,
  (path) => `${path}/`,
  (path) => path.toUpperCase(),
  (path) => path.replace('/v1', '/v1/../v1'),
  (path) => path.replace('/v1', '/%76%31'),
  (path) => `http://elsewhere.example${path}`,
  (path) => `https://a:b@elsewhere.example:1${path}`,
  (path) => `${path}#fragment`,
  (path) => `${path};jsessionid=1`,
  () => '*',
  () => 'elsewhere.example:443',
);

function queryOf({ parameters }: Route): fc.Arbitrary<string> {
  const own = parameters.filter((parameter) => parameter.in === 'query').map(queryPart);
  return fc
    .tuple(fc.tuple(...own), rarely(fc.subarray(ODD_QUERY, { minLength: 1 }), nothing))
    .map(([parts, odd]) => {
      const given = [...parts.flat(), ...odd];
      return given.length === 0 ? '' : `?${given.join('&')}`;
    });
}

const ODD_QUERY = [
  ...[
    'unknown=1',
    '__proto__=1',
    '__proto__[x]=1',
    'constructor[prototype][x]=1',
    'toString=1',
    'hasOwnProperty=1',
  ],
  ...[
    '',
    '=',
    '&&',
    '%ZZ=1',
    '%00=%00',
    'a=%ED%A0%80',
    'limit[]=1',
    'limit[$gt]=1',
    'limit=1&limit=2',
    '?',
    '#',
  ],
  `x=${'a'.repeat(9_000)}`,
];

function queryPart({ name, schema, required }: Parameter): fc.Arbitrary<string[]> {
  const good = name === 'cursor' ? soundCursor : name === 'key' ? keyText : sound(schema).map(String);
  const value = soundOr(good.map(encoded), fc.oneof(hostileText.map(encoded), hostilePart));
  const given = value.map((text) => [`${name}=${text}`]);
  const odd = value.map((text) => [`${name}=${text}`, `${name}=${text}`]);
  return required ? rarely(fc.oneof(odd, nothing), given) : fc.oneof(given, nothing, rarely(odd, given));
}

/** A cursor is an id; encoding it would hide the place that is to be filled. */
const soundCursor = fc.constantFrom('ord_zzzzzzzzzzzzzzzzzzzzzzzzzz', 'rev_zzzzzzzzzzzzzzzzzzzzzzzzzz');

const bearer = (token: string): Headers => [['Authorization', `Bearer ${token}`]];

function doorOf({ door }: Route): fc.Arbitrary<Headers> {
  const own = door === 'operator' ? bearer(OPERATORS.ada) : bearer(ACME.key);
  const other = door === 'operator' ? bearer(ACME.key) : bearer(OPERATORS.ada);
  return fc.oneof(
    { weight: 24, arbitrary: fc.constant(own) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Headers[]>(
        ...[[], other, [...own, ...own], bearer(''), bearer('ck_test_nobody'), bearer('a'.repeat(5_000))],
        ...[
          'Bearer',
          'Basic YTpi',
          `Bearer\t${ACME.key}`,
          ACME.key,
          `Bearer ${ACME.key},x`,
          '\xff\xfe',
          'Bearer \0',
        ].map((value): Headers => [['Authorization', value]]),
      ),
    },
  );
}

/** Few, so that they are met again: as replays, as mismatches. */
const keyText = fc.oneof(
  { weight: 1, arbitrary: fc.nat(30).map((number) => `used-${number}`) },
  { weight: 2, arbitrary: fc.uuid() },
);
const soundKey: fc.Arbitrary<Headers> = fc
  .tuple(keyText, fc.boolean())
  .map(([text, quoted]) => [['Idempotency-Key', quoted ? `"${text}"` : text]]);

const hostileKey: fc.Arbitrary<Headers> = fc.oneof(
  fc.constantFrom<Headers[]>(
    [],
    [
      ['Idempotency-Key', 'one'],
      ['Idempotency-Key', 'two'],
    ],
    [
      ['Idempotency-Key', 'one'],
      ['idempotency-key', 'one'],
    ],
    ...[
      '',
      '""',
      '"',
      'a b',
      'a,b',
      '"a',
      'a"',
      '"a";x=1',
      '"a";X',
      "'a'",
      '\\',
      'a'.repeat(256),
      'é',
      '\x01',
      '?1',
      ':YQ==:',
    ].map((value): Headers => [['Idempotency-Key', value]]),
  ),
  headerText.map((value): Headers => [['Idempotency-Key', value]]),
);

function ifMatchOf({ parameters }: Route): fc.Arbitrary<Headers> {
  const parameter = parameters.find(({ name }) => name === 'If-Match');
  if (!parameter) return nothing;
  const good = fc.constantFrom('"1"', '"1", "2"', '*').map((value): Headers => [['If-Match', value]]);
  const bad = fc
    .oneof(
      fc.constantFrom(
        ...['', '1', '"', '""', 'W/"1"', '"1" "2"', '*, "1"', '"1', '"\xff"', '"9007199254740993"', '"-1"'],
        ...[`"${'1'.repeat(4_000)}"`, '"1",'.repeat(1_000), ','.repeat(5_000), ' , , "1"'],
      ),
      headerText,
    )
    .map((value): Headers => [['If-Match', value]]);
  return fc.oneof(
    { weight: 8, arbitrary: good },
    { weight: 2, arbitrary: bad },
    { weight: parameter.required ? 1 : 6, arbitrary: nothing },
  );
}

const EXTRA_HEADERS: (readonly [string, string])[] = [
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-Forwarded-For', '127.0.0.1'],
  ['X-Forwarded-Host', 'evil.example'],
  ['X-Original-URL', '/v1/operator/reviews'],
  ['Request-Id', 'req_mine'],
  ['Accept', 'text/html;q=\xff'],
  ['Accept-Encoding', 'gzip, br'],
  ['Range', 'bytes=0-1'],
  ['If-None-Match', '*'],
  ['Upgrade', 'websocket'],
  ['Expect', '100-continue'],
  ['Expect', 'the-unexpected'],
  ['Cookie', '__proto__=1; a=b'],
  ['Sandbox-Fault', 'call.after:charge=crash'],
  ['Stripe-Signature', 't=1,v1=00'],
  ['Content-Type', 'text/plain'],
  ['__proto__', 'x'],
  ['constructor', 'x'],
  ['X-Long', 'a'.repeat(7_000)],
];

interface Content {
  readonly bytes: Buffer;
  readonly headers: Headers;
}

const JSON_TYPE: Headers = [['Content-Type', 'application/json']];

const hostileType: fc.Arbitrary<Headers> = fc.constantFrom<Headers[]>(
  [],
  ...[
    ...[
      '',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/json; charset=utf-16',
    ],
    ...[
      'application/json; charset=',
      'application/jsonp',
      'json',
      '\xff',
      'application/json;'.repeat(200),
      ';',
      '/',
    ],
  ].map((value): Headers => [['Content-Type', value]]),
  [...JSON_TYPE, ['Content-Encoding', 'gzip']],
  [...JSON_TYPE, ['Content-Encoding', 'identity, br']],
);

function bodyOf(route: Route): fc.Arbitrary<Content> {
  const schema = route.door === 'signature' ? EVENT : route.body;
  if (!schema) return rarely(anyContent, fc.constant({ bytes: Buffer.alloc(0), headers: [] }));
  const text = fc.oneof(
    { weight: 6, arbitrary: sound(schema).map(written) },
    { weight: 4, arbitrary: tampered(schema).map(written) },
  );
  const content = fc
    .tuple(text, rarely(hostileType, fc.constant(JSON_TYPE)))
    .map(([json, headers]) => ({ bytes: Buffer.from(json, 'utf8'), headers }));
  return fc.oneof({ weight: 14, arbitrary: content }, { weight: 1, arbitrary: anyContent });
}

const anyContent: fc.Arbitrary<Content> = fc
  .oneof(
    fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom(
        ...[
          '',
          ' ',
          'null',
          '[]',
          '"x"',
          '1',
          '{',
          '{"a":',
          '{"a":1}}',
          '\ufeff{}',
          '{"__proto__":{"x":1}}',
          '{} {}',
        ],
        ...[
          'a=1&b=2',
          '['.repeat(60_000),
          '{"a":'.repeat(40_000),
          `[${'0,'.repeat(10_001)}0]`,
          '\u0000',
          '{"a":1,"a":1}',
        ],
        `{"currency":"${'e'.repeat(256 * 1024)}"}`,
        ...HOSTILE_TEXTS,
      )
      .map((text) => Buffer.from(text, 'utf8')),
    fc.constantFrom(Buffer.from('{"a":"\xff\xfe"}', 'latin1'), gzipSync('{}'), Buffer.from('{}', 'utf16le')),
  )
  .chain((bytes) => soundOr(fc.constant(JSON_TYPE), hostileType).map((headers) => ({ bytes, headers })));
