import type { ConnectionError, FastifyInstance } from 'fastify';
import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Problem } from './problem.js';
import { headersTooLarge, malformedRequest, requestTimedOut } from './problems.js';
import { newRequestId } from './request-id.js';

/**
 * Answers what Node's parser could not read as a request. There is no request and no reply object then, only
 * the socket, which is closed: nobody knows where the next request would begin.
 */
export function answerBrokenRequest(this: FastifyInstance, error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy(error);
    return;
  }
  const due = responseDueOn(socket);
  if (due) {
    due.shouldKeepAlive = false;
    return;
  }
  socket.end(render(problemFor(error.code), isHead(error)));
}

/**
 * A request that was read well is still being answered: whatever came behind it, its answer is what the client gets,
 * and the last thing on this connection. A 400 in its place would say that nothing was done. Node keeps the response
 * that is next on an untyped field. One that broke off in the middle of its body was not read: nobody will answer it.
 */
function responseDueOn(socket: Socket): ServerResponse | undefined {
  const { _httpMessage: response } = socket as { _httpMessage?: ServerResponse };
  return response?.writableEnded === false && response.req.complete ? response : undefined;
}

function problemFor(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge();
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimedOut();
  return malformedRequest('The request is not valid HTTP.');
}

/** The packet that could not be read. An answer to HEAD has no body: a client would take it for the next answer. */
function isHead(error: ConnectionError): boolean {
  const { rawPacket } = error as { rawPacket?: unknown };
  return rawPacket instanceof Buffer && rawPacket.toString('latin1', 0, 5) === 'HEAD ';
}

function render(problem: Problem, head: boolean): string {
  const body = JSON.stringify(problem);
  const { status } = problem.details;
  const headers = {
    ...problem.headers,
    'Request-Id': newRequestId(),
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${head ? '' : body}`;
}
