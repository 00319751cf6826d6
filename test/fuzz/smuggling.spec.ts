import { randomUUID } from 'node:crypto';
import { orderBody } from '../support/checkout.js';
import { ACME } from '../support/start-api.js';
import { openTarget, type Target } from './target.js';
import { exchange, type WireAnswer } from './wire.js';

/**
 * Where two programs on the way read one stream of bytes as different requests, one client's request ends up behind
 * another's. So whatever can be read in two ways is refused, the connection is closed, and nothing behind it is read.
 */
let target: Target;
beforeAll(async () => void (target = await openTarget()));
afterAll(() => target.shop.close());
beforeEach(async () => void (await target.written()));

const BODY = JSON.stringify(orderBody());

interface Parts {
  readonly line?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
  readonly end?: string;
}

/** An order that is to be made, but for what `parts` say. */
function order({
  line = 'POST /v1/orders HTTP/1.1',
  headers = [],
  body = BODY,
  end = '\r\n',
}: Parts): string {
  const lines = [
    line,
    'Host: checkout.example',
    `Authorization: Bearer ${ACME.key}`,
    'Content-Type: application/json',
    `Idempotency-Key: ${randomUUID()}`,
    ...headers,
  ];
  return [...lines, '', body].join(end);
}

const LENGTH = `Content-Length: ${BODY.length}`;
const CHUNKED = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

const send = (text: string): Promise<WireAnswer[]> =>
  exchange(target.shop.api.url, Buffer.from(text, 'latin1'));

describe('A request that two programs may read differently', () => {
  it.each<[string, Parts]>([
    ['two lengths', { headers: [LENGTH, 'Content-Length: 2'] }],
    ['one length twice', { headers: [LENGTH, LENGTH] }],
    ['a list of lengths', { headers: [`${LENGTH}, ${BODY.length}`] }],
    ['a length with a sign', { headers: [LENGTH.replace(': ', ': +')] }],
    ['a length that is no number', { headers: ['Content-Length: 0x10'] }],
    ['a length beyond counting', { headers: [`Content-Length: ${'9'.repeat(30)}`] }],
    ['a length and chunks', { headers: [LENGTH, 'Transfer-Encoding: chunked'], body: CHUNKED }],
    ['chunks and a length', { headers: ['Transfer-Encoding: chunked', LENGTH], body: CHUNKED }],
    ['chunks twice', { headers: ['Transfer-Encoding: chunked, chunked'], body: CHUNKED }],
    ['chunks inside of something', { headers: ['Transfer-Encoding: chunked, identity'], body: CHUNKED }],
    ['an encoding that nobody knows', { headers: ['Transfer-Encoding: xchunked'], body: CHUNKED }],
    ['chunks behind a vertical tab', { headers: ['Transfer-Encoding: \x0bchunked'], body: CHUNKED }],
    ['a blank before the colon', { headers: ['Transfer-Encoding : chunked'], body: CHUNKED }],
    ['a blank before the name', { headers: [' Content-Length: 2', LENGTH] }],
    ['a header folded over two lines', { headers: ['X-Folded: a', ' b', LENGTH] }],
    ['a length folded over two lines', { headers: ['Content-Length:', ` ${BODY.length}`] }],
    ['lines that end in LF alone', { headers: [LENGTH], end: '\n' }],
    ['one line that ends in LF alone', { headers: [`X-A: b\n${LENGTH}`] }],
    ['lines that end in CR alone', { headers: [`X-A: b\r${LENGTH}`] }],
    ['a NUL in a header', { headers: ['X-A: b\0c', LENGTH] }],
    ['a name with a blank in it', { headers: ['X A: b', LENGTH] }],
    ['a line without a name', { headers: [': b', LENGTH] }],
    ['a line without a colon', { headers: ['nonsense', LENGTH] }],
    [
      'a chunk whose size is no number',
      { headers: ['Transfer-Encoding: chunked'], body: 'zz\r\n{}\r\n0\r\n\r\n' },
    ],
    [
      'a chunk that is longer than it says',
      { headers: ['Transfer-Encoding: chunked'], body: `2\r\n${BODY}\r\n0\r\n\r\n` },
    ],
    [
      'a chunk whose size ends in LF alone',
      { headers: ['Transfer-Encoding: chunked'], body: CHUNKED.replace('\r\n', '\n') },
    ],
    ['a version that there is not', { line: 'POST /v1/orders HTTP/1.9', headers: [LENGTH] }],
    [
      'chunks in a version without them',
      { line: 'POST /v1/orders HTTP/1.0', headers: ['Transfer-Encoding: chunked', LENGTH], body: CHUNKED },
    ],
    ['a blank in its URL', { line: 'POST /v1/orders /x HTTP/1.1', headers: [LENGTH] }],
    ['a tab in its first line', { line: 'POST\t/v1/orders HTTP/1.1', headers: [LENGTH] }],
  ])('is refused, with all that comes behind it: %s', async (_name, parts) => {
    const answers = await send(order(parts) + order({ headers: [LENGTH] }));
    expect(answers.map(({ status }) => status)).toEqual([400]);
    expect(JSON.parse(answers[0]!.body)).toMatchObject({ status: 400, code: 'malformed_request' });
    expect(answers[0]!.headers).toMatchObject({
      connection: 'close',
      'request-id': expect.stringMatching(/^req_/),
    });
    expect(await target.written()).toEqual([]);
  });
});

describe('A request that does not say whom it is for', () => {
  it.each([
    ['no host', order({ headers: [LENGTH, 'Connection: close'] }).replace(/Host: .*\r\n/, '')],
    ['two hosts', order({ headers: ['Host: elsewhere.example', LENGTH, 'Connection: close'] })],
  ])('is refused: %s', async (_name, text) => {
    const [answer] = await send(text);
    expect(JSON.parse(answer!.body)).toMatchObject({ status: 400, code: 'malformed_request' });
    expect(await target.written()).toEqual([]);
  });
});

describe('A request that can be read in one way', () => {
  it.each<[string, Parts]>([
    ['with its length', { headers: [LENGTH] }],
    ['in chunks', { headers: ['Transfer-Encoding: chunked'], body: CHUNKED }],
    [
      'with the whole URL in its first line',
      { line: 'POST http://checkout.example/v1/orders HTTP/1.1', headers: [LENGTH] },
    ],
    ['with an expectation that nobody knows', { headers: ['Expect: the-unexpected', LENGTH] }],
  ])('is answered, and so is what comes behind it: %s', async (_name, parts) => {
    const answers = await send(order(parts) + order({ headers: [LENGTH, 'Connection: close'] }));
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
  });
});

describe('Headers that are too large', () => {
  it.each([
    ['one', [`X: ${'x'.repeat(17_000)}`]],
    ['many', Array.from({ length: 1_000 }, (_, index) => `X-${index}: ${'x'.repeat(20)}`)],
    ['a URL', []],
  ])('are refused: %s', async (name, headers) => {
    const line = `POST /v1/orders${name === 'a URL' ? `?x=${'x'.repeat(17_000)}` : ''} HTTP/1.1`;
    const [answer] = await send(order({ line, headers: [...headers, LENGTH] }));
    expect([answer!.status, JSON.parse(answer!.body).code]).toEqual([431, 'headers_too_large']);
    expect(await target.written()).toEqual([]);
  });
});
