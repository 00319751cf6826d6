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

/** Finds the tenant behind an API key, with a round trip to the database only every few seconds. */
@Injectable()
export class ApiKeyAuthenticator extends Authenticator {
  private readonly known = new RecentAnswers<Tenant>(KEPT_FOR_MS, KNOWN_KEPT);
  private readonly unknown = new RecentAnswers<true>(KEPT_FOR_MS, UNKNOWN_KEPT);
  private readonly asking = new Map<string, Promise<Tenant | undefined>>();
  /** Everybody knows these. A seed may reach a database at any time: no check at the start would see that. */
  private readonly refused: ReadonlySet<string>;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly uses: KeyUses,
  ) {
    super();
    const refused = config.production ? Object.values(DEMO_API_KEYS) : [];
    this.refused = new Set(refused.map((key) => hashApiKey(key, config.hashSecret).toString('base64')));
  }

  async tenantOf(apiKey: string): Promise<Tenant | undefined> {
    const hash = hashApiKey(apiKey, this.config.hashSecret);
    const name = hash.toString('base64');
    if (this.unknown.get(name)) return undefined;
    const tenant = this.known.get(name) ?? (await this.ask(name, hash));
    if (tenant) this.uses.note(name);
    return tenant;
  }

  /** However many requests bring the same key at once, the database is asked once. */
  private ask(name: string, hash: Buffer): Promise<Tenant | undefined> {
    const asked = this.asking.get(name) ?? this.lookUp(name, hash).finally(() => this.asking.delete(name));
    this.asking.set(name, asked);
    return asked;
  }

  private async lookUp(name: string, hash: Buffer): Promise<Tenant | undefined> {
    const since = performance.now(); // the answer is as old as its question
    const tenant = this.refused.has(name) ? undefined : await findTenantByApiKey(this.database, hash);
    if (tenant) this.known.add(name, tenant, since);
    else this.unknown.add(name, true, since);
    return tenant;
  }
}
