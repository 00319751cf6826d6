import { randomUUID } from 'node:crypto';
import { loadConfig } from '../src/config/config.js';
import { asService } from '../test/support/app-role.js';
import { freePort } from '../test/support/free-port.js';
import { ACME, environment } from '../test/support/start-api.js';
import type { Load } from './load.js';
import { Program } from './process.js';
import { LEASE_SECONDS, type BenchDatabase, type Stage } from './stage.js';

/** What is measured: a program with a database of its own, and the request that it is asked again and again. */
export interface Contender {
  readonly name: string;
  readonly program: Program;
  readonly database: BenchDatabase;
  readonly request: Pick<Load, 'body' | 'headers' | 'key' | 'status'> & { readonly path: string };
  /** Each answer is a checkout, with everything that follows from one. */
  readonly checksOut: boolean;
}

export const CHECKOUT = JSON.stringify({
  currency: 'eur',
  items: [{ sku: 'tea-250', quantity: 2, unitAmount: 850 }],
  customer: { email: 'ada@example.com' },
  paymentMethod: 'pm_card_visa',
});
const ORDER = JSON.stringify({ ...(JSON.parse(CHECKOUT) as object), paymentMethod: undefined });
const AUTHORIZED = { Authorization: `Bearer ${ACME.key}` };

/** Unique, and as random as clients' keys are: consecutive ones would be kind to the index. */
const fresh = () => randomUUID();

const SERVICE = 'dist/src/main.js';

/** Everything that is measured side by side in one run. */
export async function contenders(stage: Stage, profile?: string): Promise<Contender[]> {
  const start = starter(stage, profile);
  const ours = await start('ours', SERVICE);
  const secured = await start('secured', SERVICE, { as: asService });
  const naive = await start('naive', 'bench/programs/naive.ts');
  const floor = await start('floor', 'bench/programs/floor.ts');
  const held = await prepareKeys(ours);
  const bare = {
    ...(await start('bare', 'bench/programs/bare-read.ts', ours)),
    database: ours.database,
  };
  const checkout = { body: CHECKOUT, headers: AUTHORIZED, key: fresh, status: 201 };
  const kept = { body: CHECKOUT, headers: AUTHORIZED };
  return [
    { name: 'checkout', ...ours, request: { ...checkout, path: '/v1/checkouts' }, checksOut: true },
    {
      name: 'secured checkout',
      ...secured,
      request: { ...checkout, path: '/v1/checkouts' },
      checksOut: true,
    },
    {
      name: 'naive checkout',
      ...naive,
      request: { ...checkout, path: '/naive/checkouts' },
      checksOut: false,
    },
    { name: 'floor checkout', ...floor, request: { ...checkout, path: '/' }, checksOut: true },
    {
      name: 'replay',
      ...ours,
      request: { ...kept, key: held.finished, status: 201, path: '/v1/checkouts' },
      checksOut: false,
    },
    {
      name: 'bare read',
      ...bare,
      request: { ...kept, key: held.finished, status: 201, path: '/bare' },
      checksOut: false,
    },
    {
      name: 'in use (409)',
      ...ours,
      request: { ...kept, key: held.inUse, status: 409, path: '/v1/checkouts' },
      checksOut: false,
    },
    {
      name: 'order',
      ...ours,
      request: { ...kept, body: ORDER, key: fresh, status: 201, path: '/v1/orders' },
      checksOut: false,
    },
  ];
}

type Started = Pick<Contender, 'program' | 'database'>;

function starter(stage: Stage, profile: string | undefined) {
  /** @param as whom: the owner of the tables, for whom there is no row security, unless something else is said */
  return async (
    name: string,
    file: string,
    { database: shared, as = (url) => url }: { database?: BenchDatabase; as?: (url: string) => string } = {},
  ): Promise<Started> => {
    const database = shared ?? (await stage.database(name));
    const settings = environment({
      databaseUrl: as(database.url),
      providerUrl: stage.providerUrl,
      ROLE: 'api',
      PROVIDER_KEY_PREFIX: name,
      IDEMPOTENCY_LEASE_SECONDS: String(LEASE_SECONDS),
    });
    loadConfig(settings); // says what is wrong with it before a process dies of it
    const flags =
      profile !== undefined && file === SERVICE ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
    return { database, program: await Program.start([...flags, file], settings, await freePort()) };
  };
}

/** One key whose reply is stored, and one whose first request seems to run. */
async function prepareKeys({ program, database }: Started): Promise<{ finished: string; inUse: string }> {
  const keys = { finished: fresh(), inUse: fresh() };
  for (const key of Object.values(keys)) {
    const headers = { ...AUTHORIZED, 'Idempotency-Key': key, 'Content-Type': 'application/json' };
    const answer = await fetch(`${program.url}/v1/checkouts`, { method: 'POST', headers, body: CHECKOUT });
    if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
  }
  await database.sql(
    `UPDATE idempotency_keys SET status = 'in_progress', reply_status = NULL, reply_body = NULL, expires_at = NULL,
       locked_until = 'infinity', next_run_at = 'infinity' WHERE key = $1`,
    [keys.inUse],
  );
  return keys;
}
