import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { boundArrivingBodies } from './arriving-bodies.js';
import { Draining, refuseWhileDraining } from './draining.js';
import { serveDocs } from './docs.js';
import { HttpMetrics } from './http-metrics.js';
import { nameRequest } from './request-id.js';
import { logRequests } from './request-log.js';
import { RouteTable } from './route-table.js';
import { ignoreExpectations, refuseUnclearHeaders } from './unclear-headers.js';

/** Everything that Nest's modules cannot say. The processes and the tests both come through here. */
export function configureApp(app: NestFastifyApplication): void {
  const server = app.getHttpAdapter().getInstance();

  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  boundArrivingBodies(server);

  const routes = app.get(RouteTable);
  server.addHook('onRoute', (route) => routes.add(route));
  server.addHook('onRequest', (request, reply, done) => {
    nameRequest(request, reply);
    done();
  });
  refuseWhileDraining(server, app.get(Draining));
  logRequests(server);
  app.get(HttpMetrics).observe(server);
  refuseUnclearHeaders(server);
  ignoreExpectations(server);

  // Nothing of the API is a page: a browser that is led here may load, frame and run nothing.
  app.useSecurityHeaders({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: "'none'", frameAncestors: "'none'" },
    },
    xFrameOptions: { action: 'deny' },
  });
  serveDocs(app);
}
