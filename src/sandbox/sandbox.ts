import { ConfigError, loadConfig } from '../config/config.js';
import { requireReachable } from '../database/cli/connection.js';
import { migrate } from '../database/migrate.js';
import { openDataFolder, type DataFolder } from './data-folder.js';
import { EmbeddedDatabase, portInUse, urlsOn as databaseUrlsOn } from './embedded-database.js';
import { Lab } from './lab/lab.js';
import type { Output } from './output.js';
import { requireFreePorts } from './ports.js';
import { Refusal } from './refusal.js';
import { seedDemoTenants } from './seed.js';
import { environmentOf, servicesOn, urlsOn, type SandboxEnvironment } from './services.js';
import type { SandboxSettings } from './settings.js';
import { SupervisedProcess } from './supervised-process.js';

/** What the service would refuse to start with; a DATABASE_URL proves itself by being reached. @throws Refusal */
function requireUsable(env: SandboxEnvironment, someUrl: string): void {
  try {
    loadConfig({ ...env, DATABASE_URL: someUrl });
  } catch (error) {
    throw error instanceof ConfigError ? new Refusal(error.message) : error;
  }
}

/** The whole system on one machine. `start` tells the story; `stop` may be called at any time, also halfway. */
export class Sandbox {
  private readonly env: SandboxEnvironment;
  private readonly embedded?: EmbeddedDatabase;
  private readonly api: SupervisedProcess;
  private readonly worker: SupervisedProcess;
  private readonly provider: SupervisedProcess;
  private readonly mailbox: SupervisedProcess;
  private readonly lab: Lab;
  private folder?: DataFolder;
  private stopping = false;
  private running = false;

  constructor(
    private readonly settings: SandboxSettings,
    private readonly output: Output,
  ) {
    if (!settings.databaseUrl) this.embedded = new EmbeddedDatabase(settings, (text) => output.note(text));
    const embedded = databaseUrlsOn(settings.ports.POSTGRES_PORT);
    this.env = environmentOf(settings, settings.databaseUrl ? { owner: settings.databaseUrl } : embedded);
    requireUsable(this.env, embedded.owner);
    const services = servicesOn(settings.ports, this.env);
    this.api = new SupervisedProcess(services.api, output);
    this.worker = new SupervisedProcess(services.worker, output);
    this.provider = new SupervisedProcess(services.provider, output);
    this.mailbox = new SupervisedProcess(services.mailbox, output);
    this.lab = new Lab({
      port: settings.ports.LAB_PORT,
      databaseUrl: this.env.DATABASE_URL,
      urls: urlsOn(settings.ports),
      processes: { api: this.api, worker: this.worker },
    });
  }

  /** @throws Refusal; what was started by then is still to be stopped */
  async start(): Promise<void> {
    const { output, settings } = this;
    const { ports } = settings;
    await this.claim();
    await Promise.all([
      output.step(this.startDatabase(), () => this.embedded?.description ?? 'PostgreSQL of DATABASE_URL'),
      output.step(this.provider.start(), () => `Payment provider on port ${ports.PROVIDER_PORT}`),
      output.step(
        this.mailbox.start(),
        () => `Mailbox on port ${ports.MAILBOX_PORT}, SMTP on ${ports.SMTP_PORT}`,
      ),
    ]);
    await output.step(
      this.prepareSchema(),
      (count) => `Schema (migrations run: ${count}) and two demo tenants`,
    );
    await Promise.all([
      output.step(this.api.start(), () => `API on port ${ports.PORT}`),
      output.step(this.worker.start(), () => `Worker on port ${ports.WORKER_PORT}`),
    ]);
    await output.step(this.lab.start(), () => `Lab on port ${ports.LAB_PORT}`);
  }

  /** From the outside in: nobody loses what they call. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.lab.stop();
    for (const process of [this.api, this.worker, this.provider, this.mailbox]) await process.stop();
    await this.embedded?.stop();
    if (this.running) await this.folder?.markRunning(false);
  }

  /** Without waiting for anybody; PostgreSQL recovers by itself at the next start. */
  async kill(): Promise<void> {
    this.stopping = true;
    for (const process of [this.api, this.worker, this.provider, this.mailbox]) process.kill();
    await this.embedded?.stop('immediate');
  }

  /** New code for the service; the database, the provider and the mailbox go on. */
  async reload(): Promise<void> {
    await Promise.all([this.api.reload(), this.worker.reload()]);
  }

  private async claim(): Promise<void> {
    const { dataDir, ports } = this.settings;
    this.folder = await openDataFolder(dataDir);
    if (this.folder.wasKilled)
      this.output.note('The last run was killed: what is left of it may take a moment to leave');
    const inUse = await portInUse(dataDir);
    const wanted = Object.entries(ports).filter(
      ([name, port]) => name !== 'POSTGRES_PORT' || (this.embedded && port !== inUse),
    );
    await requireFreePorts(wanted, { patient: this.folder.wasKilled });
  }

  private async startDatabase(): Promise<void> {
    await (this.embedded?.start() ?? this.requireDatabase());
    this.running = true;
    await this.folder?.markRunning(true);
  }

  private async requireDatabase(): Promise<void> {
    await requireReachable(this.env.DATABASE_URL).catch((error: Error) => {
      throw new Refusal(error.message);
    });
  }

  private async prepareSchema(): Promise<number> {
    if (this.stopping) throw new Error('Stopped');
    const { DATABASE_URL, DATABASE_APP_URL, HASH_SECRET, IDEMPOTENCY_LEASE_SECONDS } = this.env;
    const lease = Number(IDEMPOTENCY_LEASE_SECONDS);
    const migrations = await migrate(DATABASE_URL, { lease, appUrl: DATABASE_APP_URL }).catch(
      (error: Error) => {
        throw new Refusal(error.message);
      },
    );
    await seedDemoTenants(DATABASE_URL, HASH_SECRET);
    return migrations.length;
  }
}
