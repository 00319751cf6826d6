/** What the judge makes of one plan, as auto_explain writes it down with every tenant's table partitioned by tenant. */

/** @typedef {{ 'Node Type': string, 'Schema'?: string, 'Relation Name'?: string, Plans?: Node[], [more: string]: unknown }} Node */

/**
 * @param {Node} root
 * @returns {{ tables: Set<string>, reason?: string }} the tenants' tables that were met, and why that was not in one
 *   shard alone
 */
export function judge(root) {
  const nodes = [...walk(root)];
  const places = nodes.map(placeOf).filter((place) => place !== undefined);
  const inserts = nodes.filter((node) => node['Operation'] === 'Insert');
  const tables = new Set([
    ...places.map(({ table }) => table),
    ...inserts.map((node) => node['Relation Name']),
  ]);
  return { tables, reason: severalShards(places) ?? listOfTenants(nodes) ?? severalRows(inserts) };
}

function* walk(node) {
  yield node;
  for (const child of node.Plans ?? []) yield* walk(child);
}

function placeOf(node) {
  if (node['Schema'] !== 'partitions') return undefined;
  const [, table, shard] = /^(\w+)_(\d+)$/.exec(node['Relation Name']);
  return { table, shard };
}

/** Of one table, or of two: what one tenant has is in the same shard of each. */
function severalShards(places) {
  const shards = new Set(places.map(({ shard }) => shard));
  return shards.size > 1 ? `reads ${shards.size} shards` : undefined;
}

/** One tenant today, two tomorrow. */
function listOfTenants(nodes) {
  const conditions = nodes.flatMap((node) => [node['Index Cond'], node['Filter'], node['Recheck Cond']]);
  return conditions.some((text) => /\btenant_id = ANY/.test(String(text)))
    ? 'takes a list of tenants'
    : undefined;
}

/** Rows to insert go where their tenant is: that is one place where it is one value for all of them. */
function severalRows(inserts) {
  const spread = inserts.map(source).some((rows) => rows && !oneRow(rows) && !oneTenant(rows));
  return spread ? 'inserts rows of several tenants' : undefined;
}

/** Where a node's rows come from; beside it may stand what is asked for single values. */
const source = (node) => node.Plans?.find((child) => child['Parent Relationship'] === 'Outer');

const oneRow = (rows) => rows['Node Type'] === 'Result' && !source(rows);

/** The tenant is the first column of every table; a value has quotes, or is a parameter. */
const oneTenant = (rows) => /^\(?('.*'::text|\$\d+)\b/.test(rows['Output']?.[0] ?? '');
