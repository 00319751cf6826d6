import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Calls, type Work } from './calls.js';
import type { Faults } from './faults.js';
import type { Ledger } from './ledger.js';
import { Parameters } from './parameters.js';
import {
  cancelIntent,
  captureIntent,
  confirmIntent,
  createIntent,
  type Surroundings,
} from './payment-intents.js';
import { apiError, unauthorized } from './provider-error.js';
import { createRefund } from './refunds.js';
import { searchIntents } from './search.js';

interface ById {
  Params: { id: string };
}

/** What Stripe's lists hold when no limit is given, and at most. */
const PAGE = { default: 10, most: 100 };

/** The part of Stripe's API that a checkout needs. Source: https://docs.stripe.com/api. */
export function stripeRoutes(app: FastifyInstance, ledger: Ledger, faults: Faults): void {
  const calls = new Calls(ledger, faults);

  app.addHook('onRequest', async (request) => {
    requireApiKey(request);
    if (request.method === 'GET' && faults.isDown) throw apiError(503);
  });

  app.post('/v1/payment_intents', (request, reply) =>
    respond(request, reply, (parameters, decline) => ({
      intent: createIntent(parameters, surroundings(request, decline)),
    })),
  );
  app.post<ById>('/v1/payment_intents/:id/confirm', (request, reply) =>
    respond(request, reply, (parameters, decline) => ({
      intent: confirmIntent(ledger.intent(request.params.id), parameters, surroundings(request, decline)),
    })),
  );
  app.post<ById>('/v1/payment_intents/:id/capture', (request, reply) =>
    respond(request, reply, (parameters) => ({
      intent: captureIntent(ledger.intent(request.params.id), parameters),
    })),
  );
  app.post<ById>('/v1/payment_intents/:id/cancel', (request, reply) =>
    respond(request, reply, (parameters) => ({
      intent: cancelIntent(ledger.intent(request.params.id), parameters),
    })),
  );
  app.post('/v1/refunds', (request, reply) =>
    respond(request, reply, (parameters) => {
      const intent = ledger.intent(parameters.required('payment_intent'), 'payment_intent');
      return { refund: createRefund(intent, ledger.listRefunds(intent.id), parameters) };
    }),
  );

  app.get<ById>('/v1/payment_intents/:id', ({ params }) => ledger.intent(params.id));
  app.get<ById>('/v1/refunds/:id', ({ params }) => ledger.refund(params.id));
  app.get('/v1/payment_intents', (request) => list(request, ledger.listIntents()));
  app.get('/v1/refunds', (request) =>
    list(request, ledger.listRefunds(query(request).text('payment_intent'))),
  );
  app.get('/v1/payment_intents/search', (request) => {
    if (faults.takeForLookup()) throw apiError(503);
    const found = searchIntents(ledger.listIntents(), query(request).required('query'));
    return { ...page(request, found), object: 'search_result', next_page: null };
  });

  async function respond(request: FastifyRequest, reply: FastifyReply, work: Work): Promise<FastifyReply> {
    const key = request.headers['idempotency-key'] as string | undefined;
    const path = request.url;
    const call = {
      path,
      form: (request.body as string | undefined) ?? '',
      charging: isCharging(path),
      ...(key && { key }),
    };
    const answer = await calls.answer(call, work);
    if (answer)
      return reply.code(answer.status).headers(answer.headers).type('application/json').send(answer.body);
    request.raw.socket.destroy();
    return reply.hijack();
  }

  function list<Thing extends { id: string }>(request: FastifyRequest, things: Thing[]) {
    if (faults.takeForLookup()) throw apiError(503);
    return page(request, things);
  }
}

/** @param things newest first */
function page<Thing extends { id: string }>(request: FastifyRequest, things: readonly Thing[]) {
  const parameters = query(request);
  const limit = Math.min(parameters.integer('limit') ?? PAGE.default, PAGE.most);
  const after = parameters.text('starting_after');
  const start = after === undefined ? 0 : things.findIndex(({ id }) => id === after) + 1;
  const data = things.slice(start, start + limit);
  return { object: 'list', data, has_more: start + limit < things.length, url: request.url.split('?')[0] };
}

function query(request: FastifyRequest): Parameters {
  return new Parameters(request.url.split('?')[1] ?? '');
}

function isCharging(path: string): boolean {
  return path === '/v1/payment_intents' || path.endsWith('/confirm');
}

function surroundings({ headers }: FastifyRequest, decline: boolean): Surroundings {
  return { decline, authenticationUrl: (id) => `http://${headers.host}/_authenticate/${id}` };
}

function requireApiKey({ headers: { authorization = '' } }: FastifyRequest): void {
  const [, scheme, credentials = ''] = /^(Bearer|Basic)\s+(\S+)$/i.exec(authorization) ?? [];
  if (scheme === undefined) throw unauthorized('You did not provide an API key.');
  const key = scheme.toLowerCase() === 'basic' ? Buffer.from(credentials, 'base64').toString() : credentials;
  if (!/^[rs]k_/.test(key)) throw unauthorized('Invalid API Key provided.');
}
