import { createServer } from 'node:http';
import { BackgroundLoop } from '../../src/background/background-loop.js';
import { LoopMetrics } from '../../src/background/loop-metrics.js';
import { Reaper, type ReaperCounts } from '../../src/background/reaper.js';
import { loadConfig } from '../../src/config/config.js';
import { EXPIRED_KEYS } from '../../src/idempotency/expired-keys.js';
import { Metrics } from '../../src/metrics/metrics.js';
import { SENT_MESSAGES } from '../../src/outbox/sent-messages.js';
import { connect } from '../own-database.js';

/** The reaper as the worker runs it, and nothing else of the worker. It says how many rows it has deleted. */
const config = loadConfig();
const database = await connect(config.database.url);
const reaper = new Reaper(database);
reaper.register(EXPIRED_KEYS);
reaper.register({ name: 'outbox', days: config.outboxRetentionDays, ...SENT_MESSAGES });

let deleted = 0;
const counting = {
  async runOnce(signal: AbortSignal): Promise<ReaperCounts> {
    const counts = await reaper.runOnce(signal);
    for (const count of Object.values(counts)) deleted += count;
    return counts;
  },
};
const loop = new BackgroundLoop('Reaper', counting, new LoopMetrics(new Metrics()));

const server = createServer((_request, response) => response.end(String(deleted)));
server.listen(Number(process.env['PORT']), '127.0.0.1');
loop.start();

process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  void loop.stop().then(() => database.close());
});
