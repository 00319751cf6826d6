import { parseArgs } from 'node:util';
import { distribute } from '../distribute.js';
import { partition } from '../partition.js';
import { changeSchema } from '../schema-change.js';
import { runCommand } from './command.js';

/** More have never helped, and each costs a lock and a file or two for every table. */
const MOST_PARTITIONS = 1_024;

/** Spreads the tables by tenant: over the servers of a Citus cluster, or with --partitions over partitions of one server. */
await runCommand(async ({ url }) => {
  const partitions = readPartitions();
  const tables = await changeSchema(url, ({ manager }) =>
    partitions ? partition(manager, partitions) : distribute(manager),
  );
  const [did, nothing] = partitions
    ? ['Partitioned', 'Every table of a tenant is partitioned already.']
    : ['Distributed', 'Every table is distributed already.'];
  console.log(tables.length > 0 ? `${did}: ${tables.join(', ')}` : nothing);
});

/** @returns undefined where none are asked for */
function readPartitions(): number | undefined {
  const { partitions } = parseArgs({ options: { partitions: { type: 'string' } } }).values;
  if (partitions === undefined) return undefined;
  const count = Number(partitions);
  if (Number.isInteger(count) && count >= 2 && count <= MOST_PARTITIONS) return count;
  throw new Error(`--partitions ${partitions}: say a number between 2 and ${MOST_PARTITIONS}.`);
}
