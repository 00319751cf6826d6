import { createServer } from 'node:http';
import { DataSource } from 'typeorm';
import { BackgroundLoop } from '../../src/background/background-loop.js';
import { LoopMetrics } from '../../src/background/loop-metrics.js';
import { loadConfig } from '../../src/config/config.js';
import { dataSourceOptions } from '../../src/database/data-source.js';
import { Database } from '../../src/database/transaction.js';
import { Reaper, type ReaperCounts } from '../../src/idempotency/reaper.js';
import { ReaperStore } from '../../src/idempotency/reaper.store.js';
import { Metrics } from '../../src/metrics/metrics.js';

/** The reaper as the worker runs it, and nothing else of the worker. It says how many rows it has deleted. */
const config = loadConfig();
const options = dataSourceOptions(config.database, { entities: [], migrations: [] });
const database = new Database(new DataSource(options));
await database.connect();

const deleted: ReaperCounts = { keys: 0, outbox: 0, inbox: 0 };
const reaper = new Reaper(new ReaperStore(database, config));
const counting = {
  async runOnce(signal: AbortSignal): Promise<ReaperCounts> {
    const counts = await reaper.runOnce(signal);
    for (const name of ['keys', 'outbox', 'inbox'] as const) deleted[name] += counts[name];
    return counts;
  },
};
const loop = new BackgroundLoop('Reaper', counting, new LoopMetrics(new Metrics()));

const server = createServer((_request, response) => response.end(JSON.stringify(deleted)));
server.listen(Number(process.env['PORT']), '127.0.0.1');
loop.start();

process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  void loop.stop().then(() => database.close());
});
