import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Transform } from 'node:stream';
import { getHeapStatistics } from 'node:v8';
import { BODY_LIMIT } from './problem.filter.js';
import { overloaded } from './problems.js';

/** Honest checkouts are smaller. So many bytes a connection costs as it is. */
const SMALL_BYTES = 16 * 1024;

/** Beside what `BodyBudget` gives out, once it is known who asks. */
const PART_OF_HEAP = 1 / 16;

/**
 * Bounds what large bodies take in all while they arrive and until they are answered: a body is read before anybody
 * knows whose it is, and strangers may open any number of connections. Small ones are not counted and always have room.
 */
export function boundArrivingBodies(server: FastifyInstance): void {
  let free = Math.max(8 * BODY_LIMIT, getHeapStatistics().heap_size_limit * PART_OF_HEAP);
  server.addHook('preParsing', (request, reply, payload, done) => {
    if (isSmall(request)) return done(null, payload);
    let taken = 0;
    let answered = false;
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, passOn) {
        if (answered) return passOn(); // nobody reads what comes behind a refusal
        if (chunk.length > free) return passOn(overloaded());
        free -= chunk.length;
        taken += chunk.length;
        passOn(null, chunk);
      },
    });
    counted.on('error', () => undefined); // Fastify does not listen any more where it has refused the body by itself
    reply.raw.once('close', () => {
      answered = true;
      free += taken;
    });
    payload.on('error', (error) => counted.destroy(error)); // the client has gone
    done(null, payload.pipe(counted));
  });
}

/** @returns false where its size is not told, too */
function isSmall({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= SMALL_BYTES;
}
