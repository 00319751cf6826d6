import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Calls, Work } from './calls.js';
import type { Ledger } from './ledger.js';
import {
  cancelIntent,
  captureIntent,
  confirmIntent,
  createIntent,
  type Surroundings,
} from './payment-intents.js';
import { createRefund } from './refunds.js';

interface ById {
  Params: { id: string };
}

/** The POSTs: each acts under an idempotency key, and meets the next fault. */
export function callRoutes(app: FastifyInstance, ledger: Ledger, calls: Calls): void {
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
}

function isCharging(path: string): boolean {
  return path === '/v1/payment_intents' || path.endsWith('/confirm');
}

function surroundings({ headers }: FastifyRequest, decline: boolean): Surroundings {
  return { decline, authenticationUrl: (id) => `http://${headers.host}/_authenticate/${id}` };
}
