import { randomUUID } from 'node:crypto';
import { loadConfig, type Config } from '../src/config/config.js';
import type { Environment } from '../src/config/environment.js';
import { freePort } from '../test/support/free-port.js';
import { ACME, environment } from '../test/support/start-api.js';
import { CHECKOUT, type Contender } from './contenders.js';
import { Program } from './process.js';
import { LEASE_SECONDS, type BenchDatabase, type Stage } from './stage.js';

/** The service on a database of its own, and the checkout that it is asked for. */
export interface Service extends Contender {
  readonly settings: NodeJS.ProcessEnv;
  readonly config: Config;
}

/** @param name of the database, and what the provider knows its keys by: 1 to 32 of a-z, 0-9, _ and - */
export async function startService(
  stage: Stage,
  name: string,
  changes: Partial<Record<keyof Environment, string>> = {},
  database?: BenchDatabase,
): Promise<Service> {
  const held = database ?? (await stage.database(name));
  const settings = environment({
    databaseUrl: held.url,
    providerUrl: stage.providerUrl,
    ROLE: 'api',
    LOG_LEVEL: 'error',
    PROVIDER_KEY_PREFIX: name,
    IDEMPOTENCY_LEASE_SECONDS: String(LEASE_SECONDS),
    ...changes,
  });
  const config = loadConfig(settings);
  const program = await Program.start(['dist/src/main.js'], settings, await freePort());
  const request = {
    path: '/v1/checkouts',
    body: CHECKOUT,
    headers: { Authorization: `Bearer ${ACME.key}` },
    key: () => randomUUID(),
    status: 201,
  };
  return { name, program, database: held, request, checksOut: true, settings, config };
}

/** One checkout. @returns the status of its answer */
export async function checkOut({ program, request }: Service, key: string = randomUUID()): Promise<number> {
  const headers = { ...request.headers, 'Idempotency-Key': key, 'Content-Type': 'application/json' };
  const answer = await fetch(program.url + request.path, { method: 'POST', headers, body: request.body });
  await answer.arrayBuffer();
  return answer.status;
}
