import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACME, GLOBEX } from '../support/start-api.js';
import type { Dice } from './dice.js';
import {
  CHANGED_BODY,
  CUT_OFF,
  WRONG_ORDER,
  type Intent,
  type Journal,
  type Route,
  type Try,
} from './journal.js';
import { authenticate, type Stage } from './stage.js';

/** Above the deadline of a request; who waits longer has lost the connection. */
const PATIENCE_MS = 8_000;
const LONGEST_PAUSE_MS = 2_000;

/** The other key's charge may wait for a customer who does not come. */
const ORDER_TRIES = 5;

/** Twice: only the processes that commit every phase come to it. */
const INNER = ['charge_created', 'charge_created'];

/** Where a request may be broken by its header, beyond what the nemesis does at random moments. */
export const POINTS: Readonly<Record<Route, readonly string[]>> = {
  checkout: [...around('order_created', ...INNER, 'finished'), ...calling('charge')],
  order: around('finished'),
  charge: [...around('charge_intended', ...INNER, 'finished'), ...calling('charge')],
  refund: [...around('refund_reserved', 'finished'), ...calling('refund')],
};

function around(...points: string[]): string[] {
  const commits = points.flatMap((point) => [`phase.before_commit:${point}`, `phase.after_commit:${point}`]);
  return [...commits, 'reply.before_send'];
}

function calling(step: string): string[] {
  return [`call.before:${step}`, `call.after:${step}`];
}

/** So that each point is met often, although few clients refund. */
const SHARE_BROKEN: Readonly<Record<Route, number>> = {
  checkout: 0.1,
  order: 0.04,
  charge: 0.25,
  refund: 0.3,
};

const ACTIONS = { crash: 1, throw: 2, hang: 2, drop_db: 2, lose_reply: 2, lose_commit_answer: 2 };
export const FAULT_ACTIONS = Object.keys(ACTIONS);

/** Buys, pays and refunds as a shop's server does: one key per intent, retried until an answer ends it. */
export class Client {
  /** @param stop no new intents; @param giveUp no more retries either */
  constructor(
    private readonly stage: Stage,
    private readonly journal: Journal,
    private readonly dice: Dice,
    private readonly stop: AbortSignal,
    private readonly giveUp: AbortSignal,
  ) {}

  async run(): Promise<void> {
    while (!this.stop.aborted) {
      const { tenant, key } = this.dice.happens(0.7) ? ACME : GLOBEX;
      await this.shop(tenant, key);
      await sleep(this.dice.between(10, 120));
    }
  }

  private async shop(tenant: string, apiKey: string): Promise<void> {
    const charge = this.dice.happens(0.7)
      ? await this.checkOut(tenant, apiKey)
      : await this.orderAndPay(tenant, apiKey);
    if (!charge || this.stop.aborted) return;
    if (charge.status === 'requires_action' && this.dice.happens(0.6))
      await authenticate(this.stage, charge.id);
    if (charge.status === 'succeeded' && this.dice.happens(0.25)) await this.refund(tenant, apiKey, charge);
  }

  private async checkOut(tenant: string, apiKey: string): Promise<PaidCharge | undefined> {
    const body = { ...this.order(), paymentMethod: this.card() };
    const seen = await this.want({ tenant, apiKey, route: 'checkout', path: '/v1/checkouts', body });
    if (seen?.status === 402 && this.dice.happens(0.7))
      return this.pay(tenant, apiKey, (JSON.parse(seen.body!) as { orderId: string }).orderId);
    return seen?.status === 201 ? (JSON.parse(seen.body!) as { charge: PaidCharge }).charge : undefined;
  }

  private async orderAndPay(tenant: string, apiKey: string): Promise<PaidCharge | undefined> {
    const seen = await this.want({ tenant, apiKey, route: 'order', path: '/v1/orders', body: this.order() });
    if (seen?.status !== 201) return undefined;
    const { id } = JSON.parse(seen.body!) as { id: string };
    if (this.dice.happens(0.85)) return this.pay(tenant, apiKey, id);
    const [one, other] = await Promise.all([this.pay(tenant, apiKey, id), this.pay(tenant, apiKey, id)]);
    return one ?? other; // two keys for one order: at most one of them takes the money
  }

  private async pay(tenant: string, apiKey: string, orderId: string): Promise<PaidCharge | undefined> {
    const body = { orderId, paymentMethod: this.card() };
    const wish = { tenant, apiKey, route: 'charge' as const, path: '/v1/charges', body };
    const seen = await (this.dice.happens(0.1) ? this.mistakeFirst(wish) : this.want(wish));
    return seen?.status === 201 ? (JSON.parse(seen.body!) as PaidCharge) : undefined;
  }

  private async refund(tenant: string, apiKey: string, { id, amount }: PaidCharge): Promise<void> {
    const path = `/v1/charges/${id}/refunds`;
    const part = () => ({ amount: Math.max(1, Math.floor(amount * this.dice.next())) });
    const one = { tenant, apiKey, route: 'refund' as const, path };
    if (this.dice.happens(0.3))
      await Promise.all([this.want({ ...one, body: part() }), this.want({ ...one, body: part() })]);
    else await this.want({ ...one, body: this.dice.happens(0.5) ? part() : {} });
  }

  /** @returns the answer that ended the intent; none where the client went away */
  private async want(wish: Omit<Intent, 'tries' | 'key'>): Promise<Try | undefined> {
    const intent = this.journal.open({ ...wish, key: randomUUID() });
    const manner = this.dice.weighed({
      plain: 66,
      duplicates: 8,
      cutsOff: 8,
      leaves: 7,
      changes: 5,
      collides: 6,
    });
    switch (manner) {
      case 'leaves':
        intent.abandoned = true;
        await this.cutOff(intent);
        return undefined;
      case 'cutsOff':
        await this.cutOff(intent);
        return this.insist(intent);
      case 'duplicates':
        await Promise.all([this.send(intent), this.send(intent), this.send(intent)]);
        return this.insist(intent);
      case 'collides':
        await this.sameKeyElsewhere(intent);
        return this.insist(intent);
      case 'changes':
        return this.insistThenChange(intent);
      default:
        return this.insist(intent);
    }
  }

  /** The other tenant happens to use the same key, for an order of its own. */
  private async sameKeyElsewhere({ tenant, key }: Intent): Promise<void> {
    const other = tenant === ACME.tenant ? GLOBEX : ACME;
    const wish = { tenant: other.tenant, apiKey: other.key, key, route: 'checkout' as const };
    const body = { ...this.order(), paymentMethod: 'pm_card_visa' };
    await this.insist(this.journal.open({ ...wish, path: '/v1/checkouts', body }));
  }

  private async insistThenChange(intent: Intent): Promise<Try | undefined> {
    const final = await this.insist(intent);
    const changed = { ...intent.body, amount: 1, metadata: { changed: 'yes' } };
    if (final?.status === 201) await this.send(intent, { body: changed, note: CHANGED_BODY });
    if (final) await this.send(intent);
    return final;
  }

  private async insist(intent: Intent): Promise<Try | undefined> {
    for (let tries = 1; !this.giveUp.aborted; tries++) {
      const seen = await this.send(intent, tries === 1 ? this.fault(intent.route) : {});
      const waits = seen.code === 'order_payment_in_progress' && tries < ORDER_TRIES;
      if (isFinal(seen) && !waits) return this.journal.close(intent, seen);
      await sleep(this.dice.next() * Math.min(LONGEST_PAUSE_MS, 100 * 2 ** tries));
    }
    return undefined;
  }

  /** A refusal before the first commit leaves no trace: the same key works for the right body. */
  private async mistakeFirst(wish: Omit<Intent, 'tries' | 'key'>): Promise<Try | undefined> {
    const intent = this.journal.open({ ...wish, key: randomUUID() });
    const body = { ...wish.body, orderId: `ord_${'0'.repeat(26)}` };
    for (let tries = 0; tries < 3; tries++) {
      const { status } = await this.send(intent, { body, note: WRONG_ORDER });
      if (status === 404) break;
    }
    return this.insist(intent);
  }

  private async cutOff(intent: Intent): Promise<void> {
    const signal = AbortSignal.timeout(this.dice.between(1, 400));
    await this.send(intent, { signal, note: CUT_OFF });
  }

  private async send(intent: Intent, how: Manner = {}): Promise<Try> {
    const api = this.dice.oneOf(this.stage.apis);
    const started = performance.now();
    const note = how.fault ?? how.note;
    const sent = { at: new Date().toISOString(), api: api.program.name, ...(note && { note }) };
    const seen = await this.request(api.url, intent, how).catch((error: unknown) => ({
      error: String(error),
    }));
    const entry: Try = { ...sent, ms: Math.round(performance.now() - started), ...seen };
    intent.tries.push(entry);
    return entry;
  }

  private async request(url: string, intent: Intent, how: Manner): Promise<Partial<Try>> {
    const answer = await fetch(url + intent.path, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Authorization: `Bearer ${intent.apiKey}`,
        'Idempotency-Key': intent.key,
        ...(how.fault && { 'Sandbox-Fault': how.fault }),
      },
      body: JSON.stringify(how.body ?? intent.body),
      signal: how.signal ?? AbortSignal.timeout(PATIENCE_MS),
    });
    const body = await answer.text();
    const code = answer.ok ? undefined : (JSON.parse(body) as { code?: string }).code;
    const replayed = answer.headers.get('idempotent-replayed') === 'true';
    const requestId = answer.headers.get('request-id') ?? '';
    return { status: answer.status, body, replayed, requestId, ...(code !== undefined && { code }) };
  }

  private fault(route: Route): Manner {
    if (this.stop.aborted || !this.dice.happens(SHARE_BROKEN[route])) return {};
    const point = this.dice.oneOf(POINTS[route]);
    const commits = point.startsWith('phase.before_commit');
    const actions = commits ? ACTIONS : { ...ACTIONS, lose_commit_answer: 0 };
    return { fault: `${point}=${this.dice.weighed(actions)}` };
  }

  private order(): Record<string, unknown> {
    return {
      currency: this.dice.oneOf(['eur', 'usd', 'jpy']),
      items: [
        { sku: 'tea-250', quantity: this.dice.between(1, 4), unitAmount: this.dice.between(100, 5_000) },
      ],
      customer: { email: 'ada@example.com', name: 'Ada' },
    };
  }

  private card(): string {
    return this.dice.weighed({
      pm_card_visa: 80,
      pm_card_mastercard: 4,
      pm_card_chargeDeclined: 7,
      pm_card_authenticationRequired: 5,
      pm_card_pendingRefund: 2,
      pm_card_refundFail: 2,
    });
  }
}

interface PaidCharge {
  readonly id: string;
  readonly status: string;
  readonly amount: number;
}

interface Manner {
  readonly body?: unknown;
  readonly note?: string;
  readonly fault?: string;
  readonly signal?: AbortSignal;
}

/** What a well-behaved client does not repeat. */
function isFinal({ status, code }: Try): boolean {
  if (status === undefined || status >= 500 || status === 429) return false;
  return !(status === 409 && code !== undefined && RETRIED.has(code));
}

const RETRIED = new Set(['idempotency_key_in_use', 'idempotency_key_under_review', 'charge_in_progress']);
