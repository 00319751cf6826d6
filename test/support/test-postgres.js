import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { destroyPostgres, startPostgres } from '../../dist/src/sandbox/postgres.js';
import { isAlive } from '../../dist/src/sandbox/postmaster.js';
import { freePort } from './free-port.js';

/**
 * A PostgreSQL for one test run, as a process of its own: it says where the server listens, waits until the run is
 * over or was killed (either closes the channel), and then leaves nothing behind.
 */
const PREFIX = 'checkout-test-';

/** A run brings its own rows and keeps none: nothing here has to survive a power cut. Who starts it may say more. */
const SETTINGS = {
  max_connections: '300',
  fsync: 'off',
  full_page_writes: 'off',
  ...JSON.parse(process.argv[2] ?? '{}'),
};

await removeStale();
const folder = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
const cluster = join(folder, 'postgres');
const starting = freePort().then((port) => startPostgres({ folder: cluster, port, settings: SETTINGS }));

process.once('disconnect', () => leave(0));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined); // the channel decides

try {
  const postgres = await starting;
  if (process.connected) process.send({ url: postgres.url('postgres') });
} catch (error) {
  console.error(error.message);
  await leave(1);
}

async function leave(code) {
  await starting.catch(() => undefined);
  await destroyPostgres(cluster);
  await rm(folder, { recursive: true, force: true });
  process.exit(code);
}

/** Of a run that was killed together with this process: the folder names the process that kept it. */
async function removeStale() {
  for (const name of await readdir(tmpdir())) {
    const pid = name.startsWith(PREFIX) && Number(name.split('-')[2]);
    if (!pid || isAlive(pid)) continue;
    await destroyPostgres(join(tmpdir(), name, 'postgres'));
    await rm(join(tmpdir(), name), { recursive: true, force: true });
  }
}
