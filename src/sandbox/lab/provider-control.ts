import type { Seen } from '../mock-provider/traffic.js';
import type { Recipe } from './recipe.js';

export interface ProviderCharge {
  readonly id: string;
  readonly idempotencyKey: string | null;
  readonly status: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly calls: number;
}

type Fault = { readonly kind: string; readonly times?: number; readonly delayMs?: number };

/** Above the service's patience with the provider (a third of its lease of 5 s). */
const TOO_LATE_MS = 2_600;

const FAULTS: Record<Recipe['provider'], readonly Fault[]> = {
  well: [],
  slow: [{ kind: 'delay', delayMs: 1_000 }],
  charges_silently: [{ kind: 'delay', delayMs: TOO_LATE_MS }],
  is_silent: [{ kind: 'drop_before', delayMs: TOO_LATE_MS }],
  fails: [{ kind: 'error_before' }],
  charges_and_fails: [{ kind: 'error_after' }],
  cuts: [{ kind: 'drop_after' }],
  down: [{ kind: 'down', times: 3 }],
};

/** The mock provider's control routes: what goes wrong, and what it has seen. */
export class ProviderControl {
  private lastSeen = 0;

  constructor(private readonly url: string) {}

  async arrange({ provider, webhook }: Recipe): Promise<void> {
    await this.clear();
    const lost = webhook === 'lost' ? [{ kind: 'webhook_drop', times: 10 }] : [];
    for (const fault of [...FAULTS[provider], ...lost]) {
      const body = JSON.stringify(fault);
      const headers = { 'Content-Type': 'application/json' };
      await answered(fetch(`${this.url}/_faults`, { method: 'POST', headers, body }));
    }
  }

  async clear(): Promise<void> {
    await answered(fetch(`${this.url}/_faults`, { method: 'DELETE' }));
  }

  /** What passed since the last time this was asked. */
  async news(): Promise<readonly Seen[]> {
    const { traffic } = await json<{ traffic: Seen[] }>(`${this.url}/_traffic?after=${this.lastSeen}`);
    this.lastSeen = traffic.at(-1)?.n ?? this.lastSeen;
    return traffic;
  }

  async charges(): Promise<readonly ProviderCharge[]> {
    return (await json<{ charges: ProviderCharge[] }>(`${this.url}/_ledger`)).charges;
  }
}

async function json<Body>(url: string): Promise<Body> {
  return (await answered(fetch(url))).json() as Promise<Body>;
}

async function answered(sent: Promise<Response>): Promise<Response> {
  const response = await sent;
  if (!response.ok) throw new Error(`The provider answers ${response.status} to ${response.url}`);
  return response;
}
