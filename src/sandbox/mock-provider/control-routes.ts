import type { FastifyInstance } from 'fastify';
import type { Faults } from './faults.js';
import type { Ledger } from './ledger.js';
import { Parameters } from './parameters.js';
import { authenticateIntent, settleIntent } from './payment-intents.js';
import { invalidRequest } from './provider-error.js';
import { settleRefund } from './refunds.js';
import type { Webhooks } from './webhooks.js';

interface ById {
  Params: { id: string };
}

/**
 * What Stripe has no routes for: look into the ledger, break things, play the customer and the days that pass, and
 * lose what was made (as an account that is not the same any more does).
 */
export function controlRoutes(
  app: FastifyInstance,
  ledger: Ledger,
  faults: Faults,
  webhooks: Webhooks,
): void {
  app.get('/_ledger', () => ledger.page());

  app.get('/_faults', () => ({ met: faults.met }));
  app.post('/_faults', (request, reply) => {
    faults.add(jsonOf(request.body));
    return reply.code(204).send();
  });
  app.delete('/_faults', (_request, reply) => {
    faults.clear();
    return reply.code(204).send();
  });

  app.put('/_webhook_endpoint', (request, reply) => {
    webhooks.register(jsonOf(request.body));
    return reply.code(204).send();
  });

  app.get<ById>('/_authenticate/:id', ({ params }, reply) => {
    const { amount, currency, status } = ledger.intent(params.id);
    return reply.type('text/html').send(bankPage(`${amount} ${currency}`, status));
  });
  app.post<ById>('/_authenticate/:id', ({ params, body }, reply) => {
    const before = ledger.intent(params.id);
    const intent = authenticateIntent(before, outcomeOf(body));
    ledger.record({ intent });
    const back = before.next_action?.redirect_to_url?.return_url;
    return typeof body === 'string' && back ? reply.redirect(back, 303) : intent;
  });

  app.post<ById>('/_settle/:id', ({ params: { id } }) => {
    if (id.startsWith('pi_')) {
      const intent = settleIntent(ledger.intent(id));
      ledger.record({ intent });
      return intent;
    }
    const before = ledger.refund(id);
    const refund = settleRefund(before, ledger.intent(before.payment_intent));
    ledger.record({ refund });
    return refund;
  });

  app.post<ById>('/_age/:id', ({ params, body }, reply) => {
    const seconds = daysOf(body) * 86_400;
    const { intent, refund } = ledger.thing(params.id);
    if (intent) ledger.record({ intent: { ...intent, created: intent.created - seconds } });
    if (refund) ledger.record({ refund: { ...refund, created: refund.created - seconds } });
    return reply.code(204).send();
  });
  app.post<ById>('/_forget/:id', ({ params: { id } }, reply) => {
    ledger.thing(id);
    ledger.record({ forgotten: id });
    return reply.code(204).send();
  });
}

/** `curl -d` calls everything a form; JSON is taken for JSON whatever it is called. */
function jsonOf(body: unknown): unknown {
  if (typeof body !== 'string' || !body.trimStart().startsWith('{')) return body;
  try {
    return JSON.parse(body);
  } catch {
    throw invalidRequest('The body is not valid JSON.');
  }
}

/** A form, from the page, or JSON, from a program. */
function outcomeOf(body: unknown): 'succeed' | 'fail' {
  const given = jsonOf(body);
  const outcome =
    typeof given === 'string'
      ? new Parameters(given).text('outcome')
      : (given as { outcome?: unknown } | null)?.outcome;
  if (outcome === 'succeed' || outcome === 'fail') return outcome;
  throw invalidRequest('outcome must be succeed or fail.', undefined, 'outcome');
}

function daysOf(body: unknown): number {
  const { days } = (jsonOf(body) ?? {}) as { days?: unknown };
  if (Number.isSafeInteger(days) && (days as number) > 0) return days as number;
  throw invalidRequest('days must be an integer from 1.', undefined, 'days');
}

function bankPage(amount: string, status: string): string {
  const buttons = `<form method="post"><button name="outcome" value="succeed">Yes, pay</button>
    <button name="outcome" value="fail">No</button></form>`;
  return `<!doctype html><title>Your bank</title><h1>Your bank</h1>
    <p>A payment of ${amount} (smallest unit) is ${status}.</p>${status === 'requires_action' ? buttons : ''}`;
}
