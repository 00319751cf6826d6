import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../../src/database/migrate.js';
import { destroyPostgres, ensureDatabase, startPostgres, type Postgres } from '../../src/sandbox/postgres.js';
import { HOST } from '../../src/sandbox/settings.js';
import { freePort } from '../support/free-port.js';
import { startMailbox, type Mailbox } from '../support/mailbox.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { environment, seedTenants } from '../support/start-api.js';
import { SECRET, authenticate as atTheBank, subscribe } from '../support/webhooks.js';
import { AUDIT } from './audit.js';
import { DatabaseProxy } from '../support/database-proxy.js';
import { Instance } from './instance.js';

/** As short as the configuration allows, so that pauses past it are short as well. */
export const LEASE_SECONDS = 3;

/** Loaded machines need more than a second for a charge; still below the deadline of a request. */
const TIMES = {
  IDEMPOTENCY_LEASE_SECONDS: String(LEASE_SECONDS),
  COMPLETER_GRACE_SECONDS: '5',
  /** Here every key has faults upon faults; that a person is asked at the cap is tested elsewhere. */
  COMPLETER_MAX_TRIES: '1000',
  PROVIDER_BREAKER_FAILURES: '5',
  PROVIDER_BREAKER_SECONDS: '1',
};

const DATABASE = 'torture';

/** Everything that a run breaks, and what it reads afterwards. */
export interface Stage {
  readonly folder: string;
  readonly database: TortureDatabase;
  readonly proxy: DatabaseProxy;
  readonly provider: MockProvider;
  readonly mailbox: Mailbox;
  readonly apis: readonly Instance[];
  readonly workers: readonly Instance[];
  /** @param keepLogs leaves the processes' logs where they are */
  close(keepLogs: boolean): Promise<void>;
}

/** @param dist the build that the processes run: the real one, or a copy with a fault of its own */
export async function setStage(dist: string): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'checkout-torture-'));
  const database = await TortureDatabase.start(join(folder, 'postgres'));
  const proxy = new DatabaseProxy({ host: HOST, port: database.port });
  const [proxyPort, provider, mailbox] = await Promise.all([
    proxy.listen(),
    startMockProvider(),
    startMailbox(),
  ]);
  const settings = {
    databaseUrl: Object.assign(new URL(database.url), { port: String(proxyPort) }).href,
    providerUrl: provider.url,
    smtpUrl: mailbox.smtpUrl,
  };
  const instance = async (role: 'api' | 'worker', number: number) => {
    const port = String(await freePort());
    const name = `${role}-${number}`;
    const own = { ROLE: role, PORT: port, WORKER_PORT: port, LOG_LEVEL: 'warn', FAULTS: 'on' };
    const env = environment({ ...settings, ...TIMES, ...own, STRIPE_WEBHOOK_SECRETS: SECRET });
    const program = { name, main: join(dist, 'src/main.js'), url: `http://${HOST}:${port}` };
    return new Instance({ ...program, log: join(folder, `${name}.log`), env: { ...env, PGAPPNAME: name } });
  };
  const apis = [await instance('api', 1), await instance('api', 2)];
  const workers = [await instance('worker', 1), await instance('worker', 2)];
  for (const each of [...apis, ...workers]) each.start();
  await Promise.all([...apis, ...workers].map((each) => each.ready()));
  await subscribe(provider, apis[0]!.url);
  return {
    folder,
    database,
    proxy,
    provider,
    mailbox,
    apis,
    workers,
    close: async (keepLogs) => {
      await Promise.all([...apis, ...workers].map((each) => each.stop()));
      await Promise.all([provider.stop(), mailbox.stop(), proxy.close(), database.close()]);
      if (!keepLogs) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A PostgreSQL of the run's own, reached directly: the harness itself must not suffer from its faults. */
export class TortureDatabase {
  private pool!: pg.Pool;

  private constructor(
    private readonly folder: string,
    private postgres: Postgres,
  ) {
    this.connect();
  }

  static async start(folder: string): Promise<TortureDatabase> {
    const postgres = await startPostgres({ folder, port: await freePort(), settings: SETTINGS });
    await ensureDatabase(postgres, DATABASE);
    const database = new TortureDatabase(folder, postgres);
    await migrate(database.url, { lease: LEASE_SECONDS });
    await seedTenants(database.url);
    await database.sql(AUDIT);
    return database;
  }

  get port(): number {
    return this.postgres.port;
  }

  get url(): string {
    return this.postgres.url(DATABASE);
  }

  async sql<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.pool.query<Row & object>(text, values)).rows;
  }

  /** `pg_ctl stop -m immediate` and start: sessions end without a word, and recovery follows. */
  async crash(): Promise<void> {
    await this.pool.end().catch(() => undefined);
    await this.postgres.stop('immediate');
    this.postgres = await startPostgres({ folder: this.folder, port: this.port, settings: SETTINGS });
    this.connect();
  }

  async close(): Promise<void> {
    await this.pool.end();
    await destroyPostgres(this.folder);
  }

  /** The role's timeouts are for the service: what is asked here takes as long as it takes. */
  private connect(): void {
    const options = '-c statement_timeout=0 -c lock_timeout=0';
    const pool = { connectionString: this.url, max: 2, application_name: 'torture', options };
    this.pool = new pg.Pool(pool);
    this.pool.on('error', () => undefined);
  }
}

/** The machine does not crash, only its processes: what PostgreSQL has written is there again without fsync. */
const SETTINGS = { max_connections: '200', fsync: 'off', full_page_writes: 'off' };

/** The customer comes to the bank's page; the bank knows nothing of our faults. */
export async function authenticate({ provider }: Stage, chargeId: string): Promise<void> {
  const { charges } = await provider.ledger();
  const payment = charges.find(({ metadata }) => metadata['charge_id'] === chargeId);
  if (payment?.status === 'requires_action') await atTheBank(provider, payment.id, 'succeed');
}
