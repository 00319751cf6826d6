import { Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { statement } from '../database/statement.js';
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
    const answer = this.database.queryReserved(PING).then(() => '', reasonOf);
    const reason = await Promise.race([answer, sleep(PATIENCE_MS, 'no answer in time', { ref: false })]);
    this.noteChange(reason);
    return reason === '';
  }

  /** Said once per outage, not once per question. */
  private noteChange(reason: string): void {
    const up = reason === '';
    if (up === this.wasUp) return;
    this.wasUp = up;
    if (up) this.logger.log('The database answers again');
    else this.logger.error(`The database does not answer: ${reason}`);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}

/** Answers only where the migrations have been run. */
const PING = statement('readiness_ping', 'SELECT 1 FROM migrations LIMIT 1');
