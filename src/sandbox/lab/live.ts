import { setTimeout as sleep } from 'node:timers/promises';
import type { History } from './history.js';
import type { MailboxControl } from './mailbox-control.js';

/** Whether each part of the sandbox answers. */
export type Health = Readonly<Record<'api' | 'worker' | 'database' | 'provider' | 'mail', boolean>>;

export interface Snapshot {
  readonly health: Health;
  /** The scenario that is running, if one is. */
  readonly busy: { readonly run: string; readonly title: string } | null;
  readonly lists: Readonly<Record<string, readonly unknown[]>>;
}

interface Sources {
  readonly urls: Readonly<Record<'api' | 'worker' | 'provider' | 'mailbox', string>>;
  readonly history: History;
  readonly mailbox: MailboxControl;
  readonly busy: () => Snapshot['busy'];
}

const EVERY_MS = 1_000;
const ANSWER_WITHIN_MS = 800;
const SHOWN = 12;

/** What is in the service right now, for whoever looks; while nobody does, nobody asks. */
export class Live {
  private readonly listeners = new Set<(snapshot: Snapshot) => void>();
  private last: Snapshot | undefined;
  private looking = false;

  constructor(private readonly sources: Sources) {}

  /** @returns how to stop listening */
  listen(listener: (snapshot: Snapshot) => void): () => void {
    this.listeners.add(listener);
    if (this.last) listener(this.last);
    if (!this.looking) void this.look();
    return () => this.listeners.delete(listener);
  }

  private async look(): Promise<void> {
    this.looking = true;
    while (this.listeners.size > 0) {
      const snapshot = await this.snapshot();
      if (JSON.stringify(snapshot) !== JSON.stringify(this.last))
        for (const listener of this.listeners) listener(snapshot);
      this.last = snapshot;
      await sleep(EVERY_MS);
    }
    this.looking = false;
    this.last = undefined;
  }

  private async snapshot(): Promise<Snapshot> {
    const [health, lists] = await Promise.all([this.health(), this.lists()]);
    return {
      health: { ...health, database: lists !== undefined },
      busy: this.sources.busy(),
      lists: lists ?? {},
    };
  }

  private async health(): Promise<Omit<Health, 'database'>> {
    const { urls } = this.sources;
    const [api, worker, provider, mail] = await Promise.all([
      answers(`${urls.api}/health/ready`),
      answers(`${urls.worker}/health/ready`),
      answers(`${urls.provider}/_traffic?after=1e9`),
      answers(`${urls.mailbox}/messages`),
    ]);
    return { api, worker, provider, mail };
  }

  private async lists(): Promise<Snapshot['lists'] | undefined> {
    const { history } = this.sources;
    try {
      const [keys, orders, letters, reviews, mails] = await Promise.all([
        history.read(KEYS, [SHOWN]),
        history.read(ORDERS, [SHOWN]),
        history.read(DEAD_LETTERS, [SHOWN]),
        history.read(REVIEWS, [SHOWN]),
        this.mails(),
      ]);
      return { keys, orders, mails, letters, reviews };
    } catch {
      return undefined;
    }
  }

  private async mails(): Promise<unknown[]> {
    const mails = await this.sources.mailbox.messages().catch(() => []);
    return mails
      .slice(-SHOWN)
      .reverse()
      .map(({ to, subject, receivedAt }) => ({ to, subject, at: receivedAt }));
  }
}

/** Whether each part answers 2xx in time. */
export async function answers(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) }).then(
    ({ ok }) => ok,
    () => false,
  );
}

const KEYS = `
SELECT tenant_id AS tenant, key, status, recovery_point AS point, attempts, reply_status AS reply, created_at AS at
  FROM idempotency_keys ORDER BY created_at DESC LIMIT $1`;

const ORDERS = `
SELECT tenant_id AS tenant, id, status, amount::int, currency, external_ref AS ref, created_at AS at
  FROM orders ORDER BY created_at DESC LIMIT $1`;

const DEAD_LETTERS = `
SELECT tenant_id AS tenant, topic, attempts, last_error AS error, dead_at AS at
  FROM outbox_messages WHERE dead_at IS NOT NULL ORDER BY dead_at DESC LIMIT $1`;

const REVIEWS = `
SELECT tenant_id AS tenant, reason, subject_kind AS about, opened_at AS at
  FROM reviews WHERE decided_at IS NULL ORDER BY opened_at DESC LIMIT $1`;
