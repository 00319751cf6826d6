import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Faults } from './faults.js';
import type { Ledger } from './ledger.js';
import { Parameters } from './parameters.js';
import { apiError } from './provider-error.js';
import { searchIntents } from './search.js';

interface ById {
  Params: { id: string };
}

/** What Stripe's lists hold when no limit is given, and at most. */
const PAGE = { default: 10, most: 100 };

export function readRoutes(app: FastifyInstance, ledger: Ledger, faults: Faults): void {
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

  function list<Thing extends Made>(request: FastifyRequest, things: Thing[]) {
    if (faults.takeForLookup()) throw apiError(503);
    return page(request, since(request, things));
  }
}

interface Made {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
}

/** `created[gte]`, the one filter by time that is known here. */
function since<Thing extends Made>(request: FastifyRequest, things: readonly Thing[]): Thing[] {
  const { gte = '0' } = query(request).map('created');
  return things.filter(({ created }) => created >= Number(gte));
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
