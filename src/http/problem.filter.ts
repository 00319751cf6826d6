import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isStoreUnavailable } from '../database/errors.js';
import { Problem } from './problem.js';
import * as problems from './problems.js';
import { RouteTable } from './route-table.js';

/** 256 KiB: a hundred times the largest honest checkout, and parsed in a few milliseconds. */
export const BODY_LIMIT = 256 * 1024;

/** The one place where an error becomes an answer. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly routes: RouteTable) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const problem = request.is404 ? this.unrouted(request, error) : toProblem(error);
    log(request, problem, error);
    sendProblem(request, http.getResponse<FastifyReply>(), problem);
  }

  private unrouted(request: FastifyRequest, error: unknown): Problem {
    const problem = toProblem(error);
    if (problem.details.status !== 404) return problem;
    const allowed = this.routes.methodsAt(request.url);
    return allowed.length > 0 ? problems.methodNotAllowed(request.method, allowed) : problems.routeNotFound();
  }
}

export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (isStoreUnavailable(error)) return problems.storeUnavailable();
  const status = statusOf(error);
  return status === undefined ? problems.internalError() : byStatus(status);
}

/** Nest's and Fastify's errors carry a status; what they say may name internals, so their words stay inside. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof HttpException) return error.getStatus();
  const status = (error as { statusCode?: unknown } | undefined)?.statusCode;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}

function byStatus(status: number): Problem {
  switch (status) {
    case 400:
      return problems.malformedRequest(
        'The request cannot be read: its URL, headers or length contradict themselves.',
      );
    case 404:
      return problems.routeNotFound();
    case 408:
      return problems.requestTimedOut();
    case 413:
      return problems.bodyTooLarge(BODY_LIMIT);
    case 414:
      return problems.uriTooLong();
    case 415:
      return problems.unsupportedMediaType('Send the body as Content-Type: application/json.');
    default:
      return status < 500 ? problems.refused(status, 'The request was refused.') : problems.internalError();
  }
}

function log(request: FastifyRequest, problem: Problem, error: unknown): void {
  if (problem.details.code === 'store_unavailable')
    request.log.info({ reason: messageOf(error) }, 'store unavailable'); // readiness says it loudly, once an outage
  else if (problem.details.status >= 500 && error !== problem)
    request.log.error({ err: error }, 'request failed');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): void {
  request.annotations = { ...request.annotations, code: problem.details.code };
  if (reply.sent || reply.raw.headersSent) {
    reply.raw.destroy(); // half an answer was sent: a cut connection says so, anything more would hide it
    return;
  }
  void reply.status(problem.details.status).headers(problem.headers).send(JSON.stringify(problem));
}
