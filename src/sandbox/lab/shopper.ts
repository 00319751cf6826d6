import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEMO_TENANTS } from '../seed.js';
import type { Client, Order } from './client.js';
import type { Reply } from './http-client.js';
import type { Recipe } from './recipe.js';

/** Where no Retry-After says how long: twice as long each time, up to this. */
const PAUSE_MS = 700;
const LONGEST_PAUSE_MS = 2_000;

/** So that the first purchase can be seen to end before the next begins. */
const BREATH_MS = 600;

export interface Surroundings {
  readonly client: Client;
  /** Moves a key past the end of its retention. */
  readonly letExpire: (tenant: string, key: string) => Promise<void>;
  /** The client has left without an answer. */
  readonly left: () => void;
  /** Aborted when the act is over. */
  readonly signal: AbortSignal;
}

/** What a customer means to buy; a client may send it under any number of keys. */
interface Purchase extends Omit<Order, 'key'> {
  readonly keyOfNext: () => string;
}

/** The customer of an act and their client, as the recipe wants them: right, careless, or gone. */
export class Shopper {
  private readonly sessionKey = newKey();

  constructor(
    private readonly recipe: Recipe,
    private readonly surroundings: Surroundings,
  ) {}

  /** Settles when the client has nothing more to send. */
  async shop(): Promise<void> {
    const { clicks, service } = this.recipe;
    const purchase = this.purchase();
    const first = service === 'well' ? purchase : { ...purchase, fault: service };
    if (clicks === 'twice') await Promise.all([this.buy(first), this.buy(first)]);
    else await this.buy(first);
    await this.afterwards(purchase);
  }

  private purchase(): Purchase {
    const { key, ref, card } = this.recipe;
    const own = newKey();
    const keys = { purchase: () => own, request: newKey, session: () => this.sessionKey };
    return {
      tenant: DEMO_TENANTS[0],
      card: card === 'good' ? 'pm_card_visa' : 'pm_card_visa_chargeDeclined',
      keyOfNext: keys[key],
      ...(ref === 'given' && { ref: `lab-${randomUUID().slice(0, 8)}` }),
    };
  }

  private async afterwards(same: Purchase): Promise<void> {
    switch (this.recipe.then) {
      case 'nothing':
        return;
      case 'again':
        return this.buy(same);
      case 'other':
        return this.buy({ ...same, card: 'pm_card_mastercard' });
      case 'second':
        return this.buy(this.purchase());
      case 'tenant':
        return this.buy({ ...same, tenant: DEMO_TENANTS[1] });
      case 'expired':
        return this.comeBackLate(same);
    }
  }

  private async comeBackLate(same: Purchase): Promise<void> {
    const { letExpire, signal } = this.surroundings;
    await sleep(BREATH_MS, undefined, { signal });
    await letExpire(same.tenant.id, same.keyOfNext());
    await this.buy(same);
  }

  /** Sends a request until it has an answer to keep. What breaks, breaks in the first one. */
  private async buy({ keyOfNext, fault, ...order }: Purchase): Promise<void> {
    const { client, left, signal } = this.surroundings;
    let broken = fault === undefined ? {} : { fault };
    for (let pause = PAUSE_MS; !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const reply = await client.send({ ...order, ...broken, key: keyOfNext() });
      broken = {};
      if (reply && isFinal(reply)) return;
      if (this.recipe.client === 'leaves') return left();
      const told = Number(reply?.headers['retry-after'] ?? 0) * 1_000;
      await sleep(told || pause, undefined, { signal });
    }
  }
}

/** A 409 may be mended by waiting unless it says otherwise; so may 429 and everything above 500. */
function isFinal({ status, headers }: Reply): boolean {
  if (status === 409) return headers['should-retry'] === 'false' || headers['retry-after'] === undefined;
  return status < 500 && status !== 429;
}

function newKey(): string {
  return `lab-${randomUUID()}`;
}
