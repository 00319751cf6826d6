import { fastify, type FastifyError, type FastifyInstance } from 'fastify';
import { controlRoutes } from './control-routes.js';
import { Faults } from './faults.js';
import { Ledger } from './ledger.js';
import { newId } from './objects.js';
import { ProviderError } from './provider-error.js';
import { stripeRoutes } from './stripe-routes.js';
import { Traffic } from './traffic.js';
import { Webhooks, type Endpoint } from './webhooks.js';

/**
 * @param dataDir where the ledger is kept; without one it is forgotten with the process
 * @param endpoint where events are sent; without one nowhere, until one is registered
 */
export function mockProvider(dataDir?: string, endpoint?: Endpoint): FastifyInstance {
  const app = fastify({ forceCloseConnections: true });
  const ledger = new Ledger(dataDir);
  const faults = new Faults();
  const traffic = new Traffic();
  const webhooks = new Webhooks(faults, traffic, endpoint);
  ledger.onEvent((event) => webhooks.send(event));

  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => done(null, body),
  );
  app.setErrorHandler<ProviderError | FastifyError>((error, _request, reply) => {
    const known = error instanceof ProviderError;
    const status = known ? error.status : (error.statusCode ?? 500);
    const body = known ? error.error : { type: 'api_error', message: error.message };
    return reply
      .code(status)
      .headers({ 'Request-Id': newId('req') })
      .send({ error: body });
  });
  app.setNotFoundHandler(({ method, url }, reply) => {
    const message = `Unrecognized request URL (${method}: ${url}).`;
    return reply.code(404).send({ error: { type: 'invalid_request_error', message } });
  });
  app.addHook('onClose', () => {
    webhooks.close();
    ledger.close();
  });

  app.register((scope, _options, done) => {
    traffic.watch(scope);
    stripeRoutes(scope, ledger, faults);
    done();
  });
  controlRoutes(app, ledger, faults, webhooks);
  traffic.serve(app);
  return app;
}
