import { Injectable } from '@nestjs/common';
import { isUnsettled, type Charge, type SettledOutcome } from '../charges/charge.js';
import { lockPayment } from '../charges/charge.store.js';
import { ChargesReader } from '../charges/charges.reader.js';
import { settleOpenCharge } from '../charges/settlement.js';
import { Config } from '../config/config.js';
import type { Tx } from '../database/transaction.js';
import { deriveKey } from '../idempotency/derived-key.js';
import { isLive, type KeyRow } from '../idempotency/idempotency-key.row.js';
import { IdempotencyKeyStore } from '../idempotency/idempotency-key.store.js';
import { KeyTaken, LeaseLost } from '../idempotency/ownership.js';
import { Resumer } from '../idempotency/resumer.js';
import { NotYet } from '../inbox/message-handler.js';
import { Outbox } from '../outbox/outbox.js';
import type { ChargeNews } from '../payments/payment-event.js';
import { isSettling } from '../payments/payment-provider.js';
import { question, termsThatDiffer, type Told } from './told.js';

/** A key that is held is looked at again this soon: most are finished by then. */
const HELD_KEY_PAUSE_SECONDS = 2;

/** One that somebody else has to finish first (the completer, an earlier build) takes longer. */
const UNFINISHED_KEY_PAUSE_SECONDS = 5;

/** A person takes their time. Afterwards the event is looked at again, in case it says otherwise than they did. */
const REVIEW_PAUSE_SECONDS = 600;

/** Applies what the provider says of our charges. */
@Injectable()
export class ChargeNewsHandler {
  constructor(
    private readonly charges: ChargesReader,
    private readonly keys: IdempotencyKeyStore,
    private readonly resumer: Resumer,
    private readonly outbox: Outbox,
    private readonly config: Config,
  ) {}

  /**
   * A charge whose key is not finished: the key hears of it, in place of the answer that was lost, and ends with the
   * reply that this would have had. It is never run while somebody holds it. @throws NotYet
   */
  async prepare(news: ChargeNews): Promise<void> {
    const { tenantId, chargeId, outcome } = news;
    const charge = await this.charges.find(tenantId, chargeId);
    if (!charge || !isUnsettled(charge) || !isSettling(outcome) || disagreement(charge, news)) return;
    const unfinished = await this.unfinishedKey(tenantId, chargeId);
    if (unfinished) await this.finish(tenantId, unfinished, outcome);
  }

  /** Everything else: it moves the charge, changes nothing, or is a question for a person. @throws NotYet */
  async apply(tx: Tx, told: Told<ChargeNews>): Promise<void> {
    const { tenantId, chargeId, outcome } = told.news;
    const payment = await lockPayment(tx, tenantId, chargeId);
    if (!payment) {
      question(tx, told, { subject: { kind: 'event', id: told.id }, reason: 'charge_unknown' });
      return;
    }
    const differs = disagreement(payment.charge, told.news);
    if (differs !== undefined || !isSettling(outcome)) {
      const subject = { kind: 'charge', id: chargeId } as const;
      question(tx, told, { subject, reason: 'provider_contradicts', differs });
      return;
    }
    const settlement = settleOpenCharge(tx, this.outbox, tenantId, payment, outcome);
    if (settlement === 'unsettled') throw new NotYet('its key is not finished', UNFINISHED_KEY_PAUSE_SECONDS);
    if (settlement === 'under_review') throw new NotYet('a person is to decide', REVIEW_PAUSE_SECONDS);
  }

  private async unfinishedKey(
    tenantId: string,
    chargeId: string,
  ): Promise<{ key: string; row: KeyRow } | undefined> {
    const { idempotencyKey: key, derivedKey } = (await this.charges.keysOf(tenantId, chargeId)) ?? {};
    const row = key ? await this.keys.find(tenantId, key) : undefined;
    const isIts = row?.status === 'in_progress' && deriveKey(this.config, row.id, 'charge') === derivedKey;
    return isIts ? { key: key!, row } : undefined;
  }

  private async finish(
    tenantId: string,
    { key, row }: { key: string; row: KeyRow },
    outcome: SettledOutcome,
  ): Promise<void> {
    if (isLive(row)) throw new NotYet('its key is held', HELD_KEY_PAUSE_SECONDS);
    try {
      await this.resumer.resume(tenantId, key, row, { known: { step: 'charge', outcome } });
    } catch (error) {
      if (!(error instanceof KeyTaken || error instanceof LeaseLost)) throw error;
      throw new NotYet('its key was taken', HELD_KEY_PAUSE_SECONDS);
    }
  }
}

/** In what the provider's payment is not the one that was asked for; undefined where it is. */
function disagreement(charge: Charge, news: ChargeNews): string | undefined {
  if (news.outcome.status === 'contradicted') return news.outcome.reason;
  return termsThatDiffer([
    ['amount', charge.amount, news.amount],
    ['currency', charge.currency, news.currency],
    ['order_id', charge.orderId, news.orderId],
    ['payment', charge.providerId ?? news.providerId, news.providerId],
  ]);
}
