import { LogController, type FastifyReply, type FastifyRequest, type FastifyHttpOptions } from 'fastify';
import type { Server } from 'node:http';
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import { answerBrokenRequest } from './broken-request.js';
import { BODY_LIMIT, sendProblem, toProblem } from './problem.filter.js';
import { nameRequest, newRequestId } from './request-id.js';

/** How Fastify is set up; what is left out is its default. */
export function serverOptions(logger: Logger, { trustProxy }: Pick<Config, 'trustProxy'>) {
  return {
    bodyLimit: BODY_LIMIT,
    trustProxy, // whose word is taken for the address that a request comes from
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
    http: {
      requireHostHeader: false, // Node's own refusals have no body: `unclear-headers.ts` has ours
      headersTimeout: 10_000, // were it longer than the request's, Node would take the one for the other, and bodies had a minute
      connectionsCheckingInterval: 5_000, // and not every half minute
    },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: answerUnroutable,
  } satisfies FastifyHttpOptions<Server>;
}

/** The router could not read the URL (`%ZZ`): no hook has run yet. */
function answerUnroutable(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  nameRequest(request, reply);
  sendProblem(request, reply, toProblem(error));
}
