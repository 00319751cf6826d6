import type { FastifyInstance } from 'fastify';
import { malformedRequest } from './problems.js';

/** Headers of which two would mean two things: Node keeps the first, a proxy before us perhaps the last. */
const SINGLE = new Set(['authorization', 'content-length', 'content-type', 'host']);

/** Refuses a request that says one of them twice (RFC 9110 section 5.3; for Host RFC 9112 section 3.2). */
export function refuseRepeatedHeaders(server: FastifyInstance): void {
  server.addHook('onRequest', ({ raw: { rawHeaders } }, _reply, done) => {
    const name = repeated(rawHeaders);
    done(name === undefined ? undefined : malformedRequest(`${name} was sent more than once; send it once.`));
  });
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
