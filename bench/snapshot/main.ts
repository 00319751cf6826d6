import { parseArgs } from 'node:util';
import { claimAbandoned, drain } from '../growth/backlog.js';
import { onStage, type Outcome, type Row } from '../outcome.js';
import { checkOut, startService, type Service } from '../service.js';
import type { Stage } from '../stage.js';
import { comeAndGo, holdSnapshot } from './lives.js';

const { values: options } = parseArgs({
  options: {
    /** Checkouts that come and are done with while the snapshot is held. An hour at 300 a second is a million. */
    checkouts: { type: 'string', default: '1000000' },
    /** How often is looked at what it costs meanwhile. */
    steps: { type: 'string', default: '5' },
    json: { type: 'string' },
  },
});
const steps = Number(options.steps);
const perStep = Math.round(Number(options.checkouts) / steps);

/** Found and delivered in each step, besides. */
const MESSAGES = 10_000;
const [ABANDONED, CLAIMS] = [100, 50];

/** Whatever has piled up: a worker that polls twice a second is not to be busy with looking. */
const CLAIM_MS = 100;

await onStage(run, { json: options.json });

async function run(stage: Stage): Promise<Outcome> {
  const service = await startService(stage, 'ours');
  if ((await checkOut(service)) !== 201) throw new Error('The checkout that all are copied from failed');
  const rows = [await look(service, 'before', 0)];
  const release = await holdSnapshot(service.database);
  for (let step = 1; step <= steps; step++) {
    await comeAndGo(service.database, perStep, step);
    rows.push(await look(service, 'held', step * perStep));
    console.error(JSON.stringify(rows.at(-1)));
  }
  await release();
  await service.database.sql('VACUUM ANALYZE idempotency_keys, outbox_messages');
  rows.push(await look(service, 'let go, and vacuumed', steps * perStep));
  const stuck = await service.database.sql(
    `SELECT 1 FROM outbox_messages WHERE topic = 'bench' AND sent_at IS NULL`,
  );
  await Promise.all([service.program.stop(), service.database.close()]);
  const most = (column: string) => Math.max(...rows.map((row) => Number(row[column])));
  return {
    tables: { 'With an old snapshot': rows },
    goals: [
      { goal: 'completer claim ms, most', figure: most('completer claim p50 ms'), atMost: CLAIM_MS },
      { goal: 'relay claim ms, most', figure: most('relay claim p50 ms'), atMost: CLAIM_MS },
    ],
    findings: stuck.length > 0 ? ['Messages were passed over'] : [],
  };
}

async function look(service: Service, snapshot: string, checkouts: number): Promise<Row> {
  const keys = await claimAbandoned(service, ABANDONED, CLAIMS);
  const { perSecond, claims } = await drain(service.database, MESSAGES);
  await service.database.sql(
    `UPDATE outbox_messages SET id = id || random(), dedupe_key = dedupe_key || random() WHERE topic = 'bench'`,
  );
  const [dead] = await service.database.sql<{ mb: number }>(
    `SELECT pg_relation_size('idempotency_keys_due') / 1e6::float8 AS mb`,
  );
  return {
    snapshot,
    checkouts,
    'completer claim p50 ms': keys.p50,
    'its most ms': keys.most,
    'relay claim p50 ms': claims.p50,
    'most ms': claims.most,
    'messages/s': perSecond,
    'idempotency_keys_due MB': dead!.mb,
  };
}
