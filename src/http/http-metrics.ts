import { Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { Metrics } from '../metrics/metrics.js';

/** How long answers take. By the route's pattern, as in the log: a URL may hold ids. */
@Injectable()
export class HttpMetrics {
  private readonly seconds;

  constructor(metrics: Metrics) {
    this.seconds = metrics.histogram(
      'checkout_http_request_seconds',
      'Requests answered, by how long it took',
      ['method', 'route', 'status'],
    );
  }

  observe(server: FastifyInstance): void {
    server.addHook('onResponse', ({ method, routeOptions }, { statusCode, elapsedTime }, done) => {
      const route = routeOptions.url ?? 'none';
      this.seconds.observe({ method, route, status: statusCode }, elapsedTime / 1_000);
      done();
    });
  }
}
