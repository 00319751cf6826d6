import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { Agent as SecureAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type Stripe from 'stripe';

/** No connection came about, so not a byte was sent: nobody can have acted. */
export class NotSent extends Error {
  constructor(override readonly cause: Error) {
    super(cause.message);
    this.name = 'NotSent';
  }
}

/** The request may have arrived, but no answer came back that can be used: whether it acted is not known. */
export class AnswerLost extends Error {
  constructor(
    override readonly cause: Error,
    /** Of an answer that came and is of no use: a proxy may say for how long it will have no better one. */
    readonly headers: IncomingHttpHeaders = {},
  ) {
    super(cause.message);
    this.name = 'AnswerLost';
  }
}

/** Far above any answer that we ask for (a hundred payments are about 300 kB), far below what hurts a process. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/**
 * As many calls at once as one process may have open; more wait for a socket, until their deadline. With 256, 500
 * checkouts at once of a provider that takes 2 s were half as many a second as it allows.
 */
const MAX_SOCKETS = 1_024;

type MakeRequest = Stripe.HttpClient['makeRequest'];

/**
 * The transport under Stripe's SDK: one request, one answer, bounded in time and size.
 *
 * The SDK sends a request again when its connection was reset, even with retries at 0. It decides that by the
 * error's code, and the errors of this client have none: every send is one that the engine asked for and counted.
 * The SDK's own client also measures its timeout from the last byte, so that a drip would hold a call for ever, and
 * buffers whatever is sent; here the deadline is that of the whole call.
 */
export class BoundedHttpClient implements Stripe.HttpClient {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });
  private readonly secureAgent = new SecureAgent({ keepAlive: true, maxSockets: MAX_SOCKETS });

  getClientName(): string {
    return 'bounded';
  }

  /** @throws NotSent, AnswerLost */
  makeRequest: MakeRequest = async (...[host, port, path, method, headers, body, protocol, timeout]) => {
    const secure = protocol !== 'http';
    const connection = { made: false };
    try {
      return await new Promise<Answer>((resolve, reject) => {
        const agent = secure ? this.secureAgent : this.agent;
        const request = (secure ? httpsRequest : httpRequest)({ host, port, path, method, headers, agent });
        const abandon = (error: Error) => {
          reject(error);
          request.destroy();
        };
        const deadline = setTimeout(() => abandon(new Error(`no answer within ${timeout} ms`)), timeout);
        request.once('close', () => clearTimeout(deadline));
        request.once('socket', (socket) => onceConnected(socket, secure, () => (connection.made = true)));
        request.once('response', (response) => void readAnswer(response).then(resolve, abandon));
        request.on('error', abandon);
        request.end(body);
      });
    } catch (error) {
      if (error instanceof AnswerLost) throw error;
      throw connection.made ? new AnswerLost(error as Error) : new NotSent(error as Error);
    }
  };
}

/** A kept-alive socket is connected already; a new one is only once TLS, where there is any, stands as well. */
function onceConnected(socket: Socket, secure: boolean, connected: () => void): void {
  if (!socket.connecting) connected();
  else socket.once(secure ? 'secureConnect' : 'connect', connected);
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  return new Answer(response, parse(response, await textOf(response)));
}

function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) reject(new Error(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`));
      else chunks.push(chunk);
    });
    response.once('end', () => resolve(Buffer.concat(chunks).toString()));
    response.once('error', reject); // one that breaks off has no end
  });
}

/** What the provider itself says is an object; when it refuses, one with an error. A proxy's page is neither. */
function parse({ statusCode: status = 0, headers }: IncomingMessage, text: string): object {
  const json = parseJson(text);
  const refused = status < 200 || status > 299;
  if (!isObject(json) || (refused && !isObject((json as { error?: unknown }).error))) {
    throw new AnswerLost(new Error(`the answer with status ${status} is not one of the provider's`), headers);
  }
  return json;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An answer that has been read whole. */
class Answer implements Stripe.HttpClientResponse {
  constructor(
    private readonly response: IncomingMessage,
    private readonly json: object,
  ) {}

  getStatusCode = () => this.response.statusCode ?? 0;
  getHeaders = () => this.response.headers as Record<string, string>;
  getRawResponse = () => this.response;
  toStream = () => this.response;
  toJSON = () => Promise.resolve(this.json);
}
