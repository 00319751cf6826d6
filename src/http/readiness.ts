import { Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { TENANT_TABLES } from '../database/distribution.js';
import { NOT_ADMITTED } from '../database/row-security.js';
import { Database } from '../database/transaction.js';
import { Draining } from './draining.js';

/** An orchestrator asks every few seconds; a database that needs longer than this is as good as away. */
const PATIENCE_MS = 1_000;

/**
 * Whether requests should be sent here. Asks on the reserved connection: behind a busy pool a healthy service
 * would look dead, be taken out, and leave its load to the others until they look dead too.
 */
@Injectable()
export class Readiness {
  private readonly logger = new Logger('Readiness');
  private asking: Promise<boolean> | undefined;
  private wasUp = true;

  constructor(
    private readonly database: Database,
    private readonly draining: Draining,
  ) {}

  async isReady(): Promise<boolean> {
    return !this.draining.active && this.database.dataSource.isInitialized && (await this.databaseAnswers());
  }

  /** However many ask at once, the database is asked once. */
  private databaseAnswers(): Promise<boolean> {
    this.asking ??= this.ask().finally(() => (this.asking = undefined));
    return this.asking;
  }

  private async ask(): Promise<boolean> {
    const answer = this.database
      .queryReserved<{ name: string }>(NOT_ADMITTED, [TENANT_TABLES])
      .then(whatIsMissing, reasonOf);
    const reason = await Promise.race([answer, sleep(PATIENCE_MS, 'no answer in time', { ref: false })]);
    this.noteChange(reason);
    return reason === '';
  }

  /** Said once per outage, not once per question. */
  private noteChange(reason: string): void {
    const up = reason === '';
    if (up === this.wasUp) return;
    this.wasUp = up;
    if (up) this.logger.log('The database can be used again');
    else this.logger.error(`The database cannot be used: ${reason}`);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}

function whatIsMissing(found: readonly { name: string }[]): string {
  const names = found.map(({ name }) => name).join(', ');
  return names && `this role may not use ${names}: migrate with DATABASE_APP_URL, which lets it in`;
}
