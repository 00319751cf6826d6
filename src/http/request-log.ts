import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request's one line in the log says beside the usual: the tenant, the id of a key's row, a problem's code. */
    annotations: Readonly<Record<string, unknown>> | undefined;
  }
}

/**
 * One line per request, when it is over. It names the route's pattern, never the URL: that may hold ids and
 * queries that are no business of the log.
 */
export function logRequests(server: FastifyInstance): void {
  server.decorateRequest('annotations');
  server.addHook('onResponse', (request, reply, done) => {
    request.log[levelOf(request, reply)](line(request, reply), 'request');
    done();
  });
}

function line(request: FastifyRequest, reply: FastifyReply): Record<string, unknown> {
  return {
    method: request.method,
    route: request.routeOptions.url ?? 'none',
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    ...request.annotations,
  };
}

/** Probes and scrapes come every few seconds and say nothing new. */
function levelOf(request: FastifyRequest, reply: FastifyReply): 'debug' | 'info' {
  const { url = '' } = request.routeOptions;
  return reply.statusCode < 400 && (url.startsWith('/health/') || url === '/metrics') ? 'debug' : 'info';
}
