import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { statement } from '../database/statement.js';
import { Database } from '../database/transaction.js';

/** As fine as anybody needs who wants to know whether a key may go, and one write a minute whatever the traffic. */
const EVERY_MS = 60_000;

/** Where another process has just written it: a key costs about a write a minute, however many processes there are. */
const FRESH = '30 seconds';

/** What may be lost need not keep a process from ending. */
const AT_THE_END_MS = 1_000;

/**
 * Notes which API keys are used, and writes it down at most once a minute, all of them in one statement. No request
 * waits for it or learns of it when it fails: what could not be written is written a minute later.
 */
@Injectable()
export class KeyUses implements OnApplicationShutdown {
  private readonly logger = new Logger(KeyUses.name);
  private used = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly database: Database) {}

  /** @param hash of the key, in base64 */
  note(hash: string): void {
    this.used.add(hash);
    this.timer ??= setTimeout(() => void this.write(), EVERY_MS).unref();
  }

  /** Never throws. */
  async write(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.used.size === 0) return;
    const used = this.used;
    this.used = new Set();
    await this.database
      .query(MARK_USED, [[...used].map((hash) => Buffer.from(hash, 'base64')), FRESH])
      .catch((error) => {
        this.logger.debug(`Not written, trying again in a minute: ${(error as Error).message}`);
        for (const hash of used) this.note(hash);
      });
  }

  async onApplicationShutdown(): Promise<void> {
    const enough = new Promise<void>((resolve) => setTimeout(resolve, AT_THE_END_MS).unref());
    await Promise.race([this.write(), enough]);
    clearTimeout(this.timer);
  }
}

/** Waits for no lock: a row that somebody revokes, or that another process is writing, is left for the next time. */
const MARK_USED = statement('api_keys_mark_used', 'SELECT mark_api_keys_used($1, $2)');
