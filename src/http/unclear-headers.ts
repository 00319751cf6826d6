import type { FastifyInstance } from 'fastify';
import { malformedRequest } from './problems.js';

/** Headers of which two would mean two things: Node keeps the first, a proxy before us perhaps the last. */
const SINGLE = new Set(['authorization', 'content-length', 'content-type', 'host']);

/** Refuses a request that says one of them twice (RFC 9110 section 5.3), or does not say whom it is for (RFC 9112 section 3.2). */
export function refuseUnclearHeaders(server: FastifyInstance): void {
  server.addHook('onRequest', ({ raw: { rawHeaders, headers, httpVersion } }, _reply, done) => {
    const name = repeated(rawHeaders);
    if (name !== undefined) done(malformedRequest(`${name} was sent more than once; send it once.`));
    else if (headers.host === undefined && httpVersion === '1.1') done(malformedRequest('Host is missing.'));
    else done();
  });
}

/** Node would answer 417 to `Expect: anything`, without a word. It need not be answered (RFC 9110 section 10.1.1). */
export function ignoreExpectations({ server }: FastifyInstance): void {
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

function repeated(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    const known = name.toLowerCase();
    if (!SINGLE.has(known)) continue;
    if (seen.has(known)) return name;
    seen.add(known);
  }
  return undefined;
}
