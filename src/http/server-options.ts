import { LogController, type FastifyReply, type FastifyRequest, type FastifyHttpOptions } from 'fastify';
import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { answerBrokenRequest } from './broken-request.js';
import { BODY_LIMIT, sendProblem, toProblem } from './problem.filter.js';
import { nameRequest, newRequestId } from './request-id.js';

/** How Fastify is set up; what is left out is its default. */
export function serverOptions(logger: Logger) {
  return {
    bodyLimit: BODY_LIMIT,
    genReqId: newRequestId,
    loggerInstance: logger,
    // We write one line per request ourselves (`request-log.ts`).
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    // A whole request must have arrived after this long: 256 KiB even over a bad mobile line. Fastify's 0 is for ever.
    requestTimeout: 15_000,
    // Ours answers with a problem (`draining.ts`).
    return503OnClosing: false,
    // The longest externalRef, percent-encoded: 255 characters of four bytes each.
    routerOptions: { maxParamLength: 255 * 4 * 3 },
    // Node's own refusals have no body: `unclear-headers.ts` has ours.
    http: { requireHostHeader: false },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: answerUnroutable,
  } satisfies FastifyHttpOptions<Server>;
}

/** The router could not read the URL (`%ZZ`): no hook has run yet. */
function answerUnroutable(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  nameRequest(request, reply);
  sendProblem(request, reply, toProblem(error));
}
