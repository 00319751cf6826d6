import type { Environment } from '../../src/config/environment.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { startMailbox, type Mailbox } from './mailbox.js';
import { startMockProvider, type MockProvider } from './mock-provider.js';
import { spawnApi, type SpawnedApi } from './start-api.js';

type Settings = Partial<Record<keyof Environment, string>>;

export interface SystemOptions extends Settings {
  readonly apis?: number;
  readonly workers?: number;
}

/** The whole system on a database of its own: real processes, which a test may kill and add to. */
export interface System {
  readonly database: TestDatabase;
  readonly provider: MockProvider;
  readonly mailbox: Mailbox;
  readonly apis: readonly SpawnedApi[];
  readonly workers: readonly SpawnedApi[];
  /** One more process, for instance in place of one that was killed. */
  addApi(settings?: Settings): Promise<SpawnedApi>;
  addWorker(settings?: Settings): Promise<SpawnedApi>;
  /** Ends what still runs. @throws where a process does not end by itself; it is killed then */
  stop(): Promise<void>;
}

/** Requests in flight may finish, so this is above the deadline of a request and the time to leave. */
const LEAVE_WITHIN_MS = 40_000;

/** `startSystem({ apis: 2, workers: 1, COMMIT_EVERY_PHASE: 'true' })`; settings hold for every API and worker. */
export async function startSystem({
  apis = 1,
  workers = 0,
  ...settings
}: SystemOptions = {}): Promise<System> {
  const [database, provider, mailbox] = await Promise.all([
    createTestDatabase(),
    startMockProvider(),
    startMailbox(),
  ]);
  const addresses = { databaseUrl: database.url, providerUrl: provider.url, smtpUrl: mailbox.smtpUrl };
  const started: Record<'api' | 'worker', SpawnedApi[]> = { api: [], worker: [] };
  const add = async (role: 'api' | 'worker', own: Settings = {}) => {
    const process = await spawnApi({ ...addresses, ...settings, WORKER_PORT: '0', ...own, ROLE: role });
    started[role].push(process);
    return process;
  };
  for (let count = 0; count < apis; count++) await add('api');
  for (let count = 0; count < workers; count++) await add('worker');
  return {
    database,
    provider,
    mailbox,
    apis: started.api,
    workers: started.worker,
    addApi: (own) => add('api', own),
    addWorker: (own) => add('worker', own),
    stop: async () => {
      const late = await endAll([...started.api, ...started.worker]);
      await Promise.all([provider.stop(), mailbox.stop(), database.drop()]);
      if (late.length > 0)
        throw new Error(`Did not end by itself:\n${late.map(({ logs }) => logs()).join('\n')}`);
    },
  };
}

/** Gives those that had to be killed. */
async function endAll(processes: readonly SpawnedApi[]): Promise<SpawnedApi[]> {
  const late: SpawnedApi[] = [];
  await Promise.all(
    processes.map(async (process) => {
      const timer = setTimeout(() => late.push(process) && void process.kill('SIGKILL'), LEAVE_WITHIN_MS);
      await process.stop();
      clearTimeout(timer);
    }),
  );
  return late;
}
