import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { statement } from './statement.js';
import { Database } from './transaction.js';

/** Soon enough that nobody waits for it, rare enough for a database that is just starting. */
const RETRY_MS = 500;

/**
 * Connects in the background, for as long as it takes: a service that dies because its database starts later, or
 * restarts, only adds a second outage to the first. Until then queries are answered "store unavailable".
 */
@Injectable()
export class Connection implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('Database');
  private readonly stopping = new AbortController();
  private connecting: Promise<void> | undefined;

  constructor(private readonly database: Database) {}

  /** The first try is waited for: where the database is up, nothing starts before it can be used. */
  async onModuleInit(): Promise<void> {
    if (!(await this.tryOnce(1))) this.connecting = this.connect();
  }

  /** After the HTTP server and the loops: Nest calls this hook last for global modules. */
  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.connecting;
    await this.database.close();
  }

  private async connect(): Promise<void> {
    for (let tries = 2; !this.stopping.signal.aborted; tries++) {
      await sleep(RETRY_MS, undefined, { signal: this.stopping.signal }).catch(() => undefined);
      if (await this.tryOnce(tries)) return;
    }
  }

  private async tryOnce(tries: number): Promise<boolean> {
    try {
      await this.database.connect();
      const { active, role } = await this.database.findManner();
      this.logger.log(`Connected as ${role}, ${active ? 'under' : 'exempt from'} row security`);
    } catch (error) {
      if (tries === 1) this.logger.error(`Not connected, trying on: ${(error as Error).message}`);
      return false;
    }
    await this.checkTimeouts().catch((error) =>
      this.logger.warn(`Timeouts not checked: ${(error as Error).message}`),
    );
    return true;
  }

  /** They belong to the role; a service that runs under another one than the migrations did has none. */
  private async checkTimeouts(): Promise<void> {
    const [role] = await this.database.query<{ lock_timeout: string; name: string }>(LOCK_TIMEOUT);
    if (role?.lock_timeout === '0') {
      this.logger.warn(`Role ${role.name} has no timeouts: run db:migrate as this role, or set them for it`);
    }
  }
}

const LOCK_TIMEOUT = statement(
  'session_lock_timeout',
  "SELECT current_setting('lock_timeout') AS lock_timeout, current_user AS name",
);
