import pg from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../dist/src/database/data-source.js';
import { distribute } from '../../dist/src/database/distribute.js';

/** Of each table of a tenant: some for every worker, and few to copy with each database. */
const SHARDS = 4;

/** The servers of the Citus cluster of `coordinator`, itself first: URLs of the same administrator. */
export async function serversOf(coordinator) {
  const workers = await rows(
    coordinator,
    "SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0 AND noderole = 'primary' ORDER BY nodeid",
  );
  return [coordinator, ...workers.map((worker) => urlOf(coordinator, worker))];
}

/** Citus keeps its books in each database by itself: this makes `name` one of the cluster's on every server. */
export async function joinServers(servers, name) {
  for (const server of servers) await rows(at(server, name), 'CREATE EXTENSION citus');
  const [coordinator, ...workers] = servers.map((server) => new URL(server));
  if (workers.length === 0) return; // alone, it has the shards, and Citus makes it a node itself
  const url = at(coordinator, name);
  await rows(url, 'SELECT citus_set_coordinator_host($1, $2)', place(coordinator));
  for (const worker of workers) await rows(url, 'SELECT citus_add_node($1, $2)', place(worker));
}

/** With the rows of the tables at `url`, which are migrated. */
export async function spread(url) {
  const options = dataSourceOptions({ url, poolSize: 1 }, { entities: [], migrations: [] });
  const dataSource = await new DataSource(options).initialize();
  try {
    await dataSource.transaction(async (manager) => {
      await manager.query(`SET LOCAL citus.shard_count = ${SHARDS}`);
      await distribute({ transaction: (work) => work(manager) });
    });
  } finally {
    await dataSource.destroy();
  }
}

/** A template is copied while nobody is in it, and Citus has a process in each database of its own. */
export async function close(servers, name) {
  for (const server of servers) {
    await rows(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await rows(server, 'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1', [
      name,
    ]);
  }
}

const at = (server, name) => Object.assign(new URL(server), { pathname: name }).href;
const place = ({ hostname, port }) => [hostname, Number(port || 5432)];
const urlOf = (coordinator, { nodename, nodeport }) =>
  Object.assign(new URL(coordinator), { hostname: nodename, port: nodeport }).href;

export async function rows(url, sql, values) {
  const client = new pg.Client(url);
  await client.connect();
  return (await client.query(sql, values).finally(() => client.end())).rows;
}
