import type { FastifyInstance, FastifyRequest } from 'fastify';
import { callRoutes } from './call-routes.js';
import { Calls } from './calls.js';
import type { Faults } from './faults.js';
import type { Ledger } from './ledger.js';
import { apiError, unauthorized } from './provider-error.js';
import { readRoutes } from './read-routes.js';

/** The part of Stripe's API that a checkout needs. Source: https://docs.stripe.com/api. */
export function stripeRoutes(app: FastifyInstance, ledger: Ledger, faults: Faults): void {
  app.addHook('onRequest', async (request) => {
    requireApiKey(request);
    if (request.method === 'GET' && faults.isDown) throw apiError(503);
  });
  callRoutes(app, ledger, new Calls(ledger, faults));
  readRoutes(app, ledger, faults);
}

/** Any key of Stripe's form will do: as a bearer token, or as curl's user. */
function requireApiKey({ headers: { authorization = '' } }: FastifyRequest): void {
  const [, scheme, credentials = ''] = /^(Bearer|Basic)\s+(\S+)$/i.exec(authorization) ?? [];
  if (scheme === undefined) throw unauthorized('You did not provide an API key.');
  const key = scheme.toLowerCase() === 'basic' ? Buffer.from(credentials, 'base64').toString() : credentials;
  if (!/^[rs]k_/.test(key)) throw unauthorized('Invalid API Key provided.');
}
