import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../src/config/environment.js';
import { asService } from '../support/app-role.js';
import { freePort } from '../support/free-port.js';
import {
  environment,
  seedTenants,
  spawnMain,
  type ApiOptions,
  type SpawnedMain,
} from '../support/start-api.js';

type Settings = Partial<Record<keyof Environment, string>>;

/** For a busy machine. */
const UP_WITHIN_MS = 90_000;

/** One process of the service at a fixed address, that can be killed, drained and started again. */
export class Member {
  private running: SpawnedMain | undefined;
  private wanted = false;

  constructor(
    readonly role: 'api' | 'worker',
    readonly port: number,
    private readonly options: ApiOptions,
    /** What Node runs in place of this build, as the owner of the tables: it may be from before there was another role. */
    private readonly program?: string,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Until it is ready. */
  async start(): Promise<void> {
    const { role, port, options, program } = this;
    const ports = role === 'api' ? { PORT: `${port}` } : { WORKER_PORT: `${port}` };
    const databaseUrl = program ? options.databaseUrl : asService(options.databaseUrl);
    const env = environment({ LOG_LEVEL: 'warn', ...options, databaseUrl, ...ports, ROLE: role });
    this.running = program ? spawnMain(env, [program]) : spawnMain(env);
    this.wanted = true;
    await this.untilReady(this.running);
  }

  /** As in a crash. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** As an orchestrator ends it. @throws where it does not leave in order */
  async drain(): Promise<void> {
    const { logs } = this.running!;
    const code = await this.end('SIGTERM');
    if (code !== 0) throw new Error(`A process on its way out ended with ${code}:\n${logs()}`);
  }

  logs(): string {
    return this.running?.logs() ?? '';
  }

  private async end(signal: NodeJS.Signals): Promise<number | null> {
    if (!this.wanted || !this.running) return 0;
    this.wanted = false;
    this.running.child.kill(signal);
    return this.running.exited;
  }

  private async untilReady({ child, logs }: SpawnedMain): Promise<void> {
    for (const until = Date.now() + UP_WITHIN_MS; ;) {
      const { ok } = await fetch(`${this.url}/health/ready`).catch(() => ({ ok: false }));
      if (ok) return;
      if (child.exitCode !== null || Date.now() > until) throw new Error(`Not ready:\n${logs()}`);
      await sleep(50);
    }
  }
}

export interface Fleet {
  readonly apis: readonly Member[];
  readonly workers: readonly Member[];
  stop(): Promise<void>;
}

export interface FleetOptions extends Settings {
  readonly apis: number;
  readonly workers: number;
  readonly databaseUrl: string;
  /** Where tenants are entered: past a pooler. */
  readonly directUrl?: string;
  readonly providerUrl: string;
  readonly smtpUrl: string;
}

/** So many processes of each role, all ready. */
export async function startFleet({ apis, workers, directUrl, ...options }: FleetOptions): Promise<Fleet> {
  await seedTenants(directUrl ?? options.databaseUrl);
  const member = async (role: Member['role']) => new Member(role, await freePort(), options);
  const of = (count: number, role: Member['role']) =>
    Promise.all(Array.from({ length: count }, () => member(role)));
  const fleet = { apis: await of(apis, 'api'), workers: await of(workers, 'worker') };
  const all = [...fleet.apis, ...fleet.workers];
  await Promise.all(all.map((each) => each.start()));
  return { ...fleet, stop: async () => void (await Promise.all(all.map((each) => each.drain()))) };
}
