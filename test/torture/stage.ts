import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HOST } from '../../src/sandbox/settings.js';
import { asService } from '../support/app-role.js';
import { DatabaseProxy } from '../support/database-proxy.js';
import { Forwarder } from '../support/forwarder.js';
import { freePort } from '../support/free-port.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { OPERATORS } from '../support/operator.js';
import { environment } from '../support/start-api.js';
import { SECRET, authenticate as atTheBank, subscribe } from '../support/webhooks.js';
import { Instance } from './instance.js';
import { TortureDatabase } from './torture-database.js';
import { TortureMailbox } from './torture-mailbox.js';

/** As short as the configuration allows, so that pauses past it are short as well. */
export const LEASE_SECONDS = 3;

const SETTINGS = {
  IDEMPOTENCY_LEASE_SECONDS: String(LEASE_SECONDS),
  COMPLETER_GRACE_SECONDS: '5',
  /** Soon, so that the operator has something to decide. */
  COMPLETER_MAX_TRIES: '2',
  PROVIDER_BREAKER_FAILURES: '5',
  PROVIDER_BREAKER_SECONDS: '1',
  OPERATOR_TOKENS: OPERATORS.ada,
  STRIPE_WEBHOOK_SECRETS: SECRET,
  LOG_LEVEL: 'warn',
  FAULTS: 'on',
};

/** Everything that a run breaks, and what it reads afterwards. */
export interface Stage {
  readonly folder: string;
  readonly database: TortureDatabase;
  readonly proxy: DatabaseProxy;
  readonly provider: MockProvider;
  /** What the processes reach the provider by; the harness itself does without. */
  readonly providerPath: Forwarder;
  readonly mailbox: TortureMailbox;
  readonly apis: readonly Instance[];
  readonly workers: readonly Instance[];
  /** @param keepLogs leaves the processes' logs where they are */
  close(keepLogs: boolean): Promise<void>;
}

/** @param dist the build that the processes run: the real one, or a copy with a fault of its own */
export async function setStage(dist: string): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'checkout-torture-'));
  const database = await TortureDatabase.start(join(folder, 'postgres'), LEASE_SECONDS);
  const proxy = new DatabaseProxy({ host: HOST, port: database.port });
  const [proxyPort, provider, mailbox] = await Promise.all([
    proxy.listen(),
    startMockProvider(),
    TortureMailbox.start(join(folder, 'mailbox')),
  ]);
  const providerPath = new Forwarder(await freePort(), {
    host: HOST,
    port: Number(new URL(provider.url).port),
  });
  await providerPath.start();
  const addresses = {
    databaseUrl: asService(Object.assign(new URL(database.url), { port: String(proxyPort) }).href),
    providerUrl: `http://${HOST}:${providerPath.port}`,
    smtpUrl: mailbox.smtpUrl,
  };
  const instance = async (role: 'api' | 'worker', number: number) => {
    const port = String(await freePort());
    const name = `${role}-${number}`;
    /** One of either role commits phase by phase, so that every recovery point is reached and taken over from. */
    const own = {
      ROLE: role,
      PORT: port,
      WORKER_PORT: port,
      COMMIT_EVERY_PHASE: number === 2 ? 'on' : 'off',
    };
    const env = { ...environment({ ...addresses, ...SETTINGS, ...own }), PGAPPNAME: name };
    const program = { name, main: join(dist, 'src/main.js'), url: `http://${HOST}:${port}` };
    return new Instance({ ...program, log: join(folder, `${name}.log`), env });
  };
  const apis = [await instance('api', 1), await instance('api', 2)];
  const workers = [await instance('worker', 1), await instance('worker', 2)];
  const instances = [...apis, ...workers];
  for (const each of instances) each.start();
  await Promise.all(instances.map((each) => each.ready()));
  await subscribe(provider, apis[0]!.url);
  return {
    folder,
    database,
    proxy,
    provider,
    providerPath,
    mailbox,
    apis,
    workers,
    close: async (keepLogs) => {
      await Promise.all(instances.map((each) => each.stop()));
      await Promise.all([providerPath.stop(), mailbox.stop(), proxy.close(), database.close()]);
      await provider.stop();
      if (!keepLogs) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The customer comes to the bank's page; the bank knows nothing of our faults. */
export async function authenticate({ provider }: Stage, chargeId: string): Promise<void> {
  const { charges } = await provider.ledger();
  const payment = charges.find(({ metadata }) => metadata['charge_id'] === chargeId);
  if (payment?.status === 'requires_action') await atTheBank(provider, payment.id, 'succeed');
}
