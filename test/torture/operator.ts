import { setTimeout as sleep } from 'node:timers/promises';
import { OPERATORS } from '../support/operator.js';
import type { Dice } from './dice.js';
import type { Stage } from './stage.js';

const PATIENCE_MS = 8_000;

interface Review {
  readonly id: string;
  readonly evidence: { readonly derivedKey?: string };
}

/** Decides the reviews that come up, as a person would who looks into the provider's books. */
export class Operator {
  /** Decisions that were taken, by what was decided. */
  readonly decided = new Map<string, number>();
  /** Answers of the operator's routes that nobody thought of. */
  readonly accidents: string[] = [];

  constructor(
    private readonly stage: Stage,
    private readonly dice: Dice,
  ) {}

  async run(until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      await this.decideAll().catch(() => undefined); // whatever is away now is asked again
      await sleep(500);
    }
  }

  private async decideAll(): Promise<void> {
    const { data } = (await this.ask('GET', 'reviews?status=open&limit=100')) as { data: Review[] };
    for (const review of data) await this.decide(review).catch(() => undefined);
  }

  /** Made is what the provider has under the derived key; whatever else, the service tries or looks again. */
  private async decide({ id, evidence }: Review): Promise<void> {
    const { charges, refunds } = await this.stage.provider.ledger();
    const made = [...charges, ...refunds].find(
      ({ idempotencyKey, status }) =>
        status === 'succeeded' && idempotencyKey !== null && idempotencyKey === evidence.derivedKey,
    );
    const decision = made ? { decision: 'mark_succeeded', providerId: made.id } : { decision: 'retry' };
    await this.ask('PUT', `reviews/${id}/decision`, decision);
    this.decided.set(decision.decision, (this.decided.get(decision.decision) ?? 0) + 1);
  }

  private async ask(method: string, path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`${this.dice.oneOf(this.stage.apis).url}/v1/operator/${path}`, {
      method,
      headers: { Authorization: `Bearer ${OPERATORS.ada}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await answer.text();
    if (answer.status === 500) this.accidents.push(`${method} ${path}: ${text}`);
    if (!answer.ok) throw new Error(text);
    return JSON.parse(text);
  }
}
