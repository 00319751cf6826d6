import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressOf, ensureDatabase, startPostgres, type Postgres } from './postgres.js';
import { PostgresHold } from './postgres-hold.js';
import { findPostmaster } from './postmaster.js';
import type { SandboxSettings } from './settings.js';

export interface DatabaseUrls {
  readonly owner: string;
  /** Absent: the service runs as the owner. */
  readonly app?: string | undefined;
}

type Settings = Pick<SandboxSettings, 'dataDir' | 'ports'>;

const DATABASE = 'checkout';

const RETRY_MS = 250;

/** Recovery from a crash takes a second or two; what takes longer than this many tries is worth a line. */
const NOTE_EVERY = 20;

/** The port of our own server where it runs already: a killed run left it, or a sandbox is on. */
export async function portInUse(dataDir: string): Promise<number | undefined> {
  return (await findPostmaster(folderIn(dataDir)))?.port;
}

/** As the owner of the tables, and as the role that the service runs as. */
export function urlsOn(port: number): DatabaseUrls {
  return { owner: addressOf(port, DATABASE), app: addressOf(port, DATABASE, 'checkout_app') };
}

function folderIn(dataDir: string): string {
  return join(dataDir, 'postgres');
}

/** The sandbox's own PostgreSQL. This process is in charge of it until `stop`: killed, it is started again. */
export class EmbeddedDatabase {
  private readonly folder: string;
  private stopping = false;
  private starting?: Promise<void>;
  private hold?: PostgresHold;
  private postgres?: Postgres;

  constructor(
    private readonly settings: Settings,
    private readonly note: (text: string) => void,
  ) {
    this.folder = folderIn(settings.dataDir);
  }

  get description(): string {
    const found = this.postgres?.adopted ? ', found running' : '';
    return `PostgreSQL ${this.postgres?.version} on port ${this.settings.ports.POSTGRES_PORT}${found}`;
  }

  /** @throws Refusal */
  start(): Promise<void> {
    this.starting = this.run();
    return this.starting;
  }

  /** Leaves a server alone that another process is in charge of. */
  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    this.stopping = true;
    await this.starting?.catch(() => undefined);
    const ours = this.hold ?? this.postgres?.adopted === false;
    await this.hold?.release();
    if (ours) await this.postgres?.stop(mode);
  }

  private async run(): Promise<void> {
    const port = this.settings.ports.POSTGRES_PORT;
    await this.take(port);
    if (this.postgres?.port !== port) await this.move(port);
    await ensureDatabase(this.postgres!, DATABASE);
  }

  private async take(port: number): Promise<void> {
    this.postgres = await startPostgres({ folder: this.folder, port });
    const url = this.postgres.url('postgres');
    this.hold = await PostgresHold.take(url, this.settings.dataDir, () => this.recover());
  }

  /** A killed run left the server on another port. Moved only now that nobody else is in charge of it. */
  private async move(port: number): Promise<void> {
    await this.hold?.release();
    await this.postgres?.stop();
    await this.take(port);
  }

  /** The session that held the server was lost: it was killed, or it has dropped every session to recover. */
  private recover(): void {
    if (this.stopping) return;
    this.note('PostgreSQL is gone: bringing it back');
    this.starting = this.untilBack();
  }

  /** For as long as it takes: nothing works without it, and a server that recovers refuses sessions for a moment. */
  private async untilBack(): Promise<void> {
    for (let tries = 1; !this.stopping; tries++) {
      try {
        await this.run();
        return this.note('PostgreSQL is back');
      } catch (error) {
        if (tries % NOTE_EVERY === 0) this.note(`PostgreSQL does not start: ${(error as Error).message}`);
        await sleep(RETRY_MS);
      }
    }
  }
}
