import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../dist/src/database/data-source.js';
import { migrate } from '../../dist/src/database/migrate.js';
import { partition } from '../../dist/src/database/partition.js';
import { asService } from './app-role.js';
import { close, joinServers, rows, serversOf, spread } from './cluster.js';
import { EXPLAINED } from './explained.js';

/**
 * One real PostgreSQL for the whole run, and in it a migrated template that each test file copies in 65 ms.
 * TEST_DATABASE_URL names a server to use instead, as a user that may create databases and roles. PARTITIONS says how many each
 * table of a tenant has; the server then writes down how it carried out each statement. TEST_CLUSTER_URL names the
 * coordinator of a Citus cluster: the template, and each copy of it, is on all of its servers.
 * Plain JavaScript over the build, as jest does not map module names here; `npm test` builds first.
 */
export default async function globalSetup() {
  const admin = CLUSTER || process.env.TEST_DATABASE_URL || (await startServer());
  const servers = CLUSTER ? await serversOf(admin) : [admin];
  const template = `checkout_template_${randomBytes(4).toString('hex')}`;
  for (const server of servers) await rows(server, `CREATE DATABASE ${template}`);
  if (CLUSTER) await joinServers(servers, template);
  const url = new URL(admin);
  url.pathname = template;
  await migrate(url.href, { lease: 30, appUrl: CLUSTER ? undefined : asService(url.href) });
  if (PARTITIONS) await partitionAt(url.href);
  if (CLUSTER) await spread(url.href);
  if (CLUSTER) await close(servers, template);
  Object.assign(process.env, {
    TEST_ADMIN_URL: admin,
    TEST_SERVERS: servers.join(' '),
    TEST_TEMPLATE: template,
  });
}

const CLUSTER = process.env.TEST_CLUSTER_URL;

const PARTITIONS = Number(process.env.PARTITIONS ?? 0);

async function partitionAt(url) {
  const options = dataSourceOptions({ url, poolSize: 1 }, { entities: [], migrations: [] });
  const dataSource = await new DataSource(options).initialize();
  await partition(dataSource, PARTITIONS).finally(() => dataSource.destroy());
}

async function startServer() {
  const settings = JSON.stringify(PARTITIONS ? EXPLAINED : {});
  const keeper = fork(fileURLToPath(new URL('./test-postgres.js', import.meta.url)), [settings], {
    execArgv: [],
    detached: true, // Ctrl-C is for the run; the server goes when the run is over
  });
  globalThis.testPostgres = keeper;
  const ended = once(keeper, 'exit').then(() => Promise.reject(new Error('PostgreSQL did not start')));
  const [{ url }] = await Promise.race([once(keeper, 'message'), ended]);
  ended.catch(() => undefined);
  return url;
}
