import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { DEMO_API_KEYS } from '../config/published.js';
import { Database } from '../database/transaction.js';
import { findTenantByApiKey, hashApiKey } from './api-keys.js';
import { Authenticator } from './authenticator.js';
import { KeyUses } from './key-uses.js';
import { RecentAnswers } from './recent-answers.js';
import type { Tenant } from './tenant.js';

/** A revoked key is refused within 5 s: four from here, and one for the slowest look-up. */
const KEPT_FOR_MS = 4_000;

/** Known keys are few and busy. */
const KNOWN_KEPT = 10_000;

/** Unknown keys are anyone's: in a cache of their own, no flood of them pushes a known key out. */
const UNKNOWN_KEPT = 1_000;

/** A key that has been found. */
interface Known {
  readonly tenant: Tenant;
  /** Of the key, as it is stored, in base64. */
  readonly hash: string;
}

/**
 * Finds the tenant behind an API key, with a round trip to the database only every few seconds. In between a key is
 * known by a plain hash, which is all that a map needs: the keyed one, by which it is stored, was a fiftieth of a replay.
 */
@Injectable()
export class ApiKeyAuthenticator extends Authenticator {
  private readonly known = new RecentAnswers<Known>(KEPT_FOR_MS, KNOWN_KEPT);
  private readonly unknown = new RecentAnswers<true>(KEPT_FOR_MS, UNKNOWN_KEPT);
  private readonly asking = new Map<string, Promise<Known | undefined>>();
  /** Everybody knows these. A seed may reach a database at any time: no check at the start would see that. */
  private readonly refused: ReadonlySet<string>;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly uses: KeyUses,
  ) {
    super();
    this.refused = new Set(config.production ? Object.values(DEMO_API_KEYS) : []);
  }

  async tenantOf(apiKey: string): Promise<Tenant | undefined> {
    const name = hash('sha256', apiKey, 'base64');
    if (this.unknown.get(name)) return undefined;
    const known = this.known.get(name) ?? (await this.ask(name, apiKey));
    if (known) this.uses.note(known.hash);
    return known?.tenant;
  }

  /** However many requests bring the same key at once, the database is asked once. */
  private ask(name: string, apiKey: string): Promise<Known | undefined> {
    const asked = this.asking.get(name) ?? this.lookUp(name, apiKey).finally(() => this.asking.delete(name));
    this.asking.set(name, asked);
    return asked;
  }

  private async lookUp(name: string, apiKey: string): Promise<Known | undefined> {
    const since = performance.now(); // the answer is as old as its question
    const stored = hashApiKey(apiKey, this.config.hashSecret);
    const tenant = this.refused.has(apiKey) ? undefined : await findTenantByApiKey(this.database, stored);
    const known = tenant && { tenant, hash: stored.toString('base64') };
    if (known) this.known.add(name, known, since);
    else this.unknown.add(name, true, since);
    return known;
  }
}
