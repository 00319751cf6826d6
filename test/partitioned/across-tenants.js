/**
 * The statements that may meet more than one shard, by words of theirs, and why. Where data is distributed each asks
 * every shard: none is part of a request of a tenant.
 */
export const ACROSS_TENANTS = [
  {
    words: 'WITH RECURSIVE earliest',
    reason:
      'finds the tenants with something due, or with rows that have served, for the worker: what it then claims or deletes is of one tenant',
  },
  { words: 'count(*)::int AS keys', reason: 'the gauges of keys and reviews, for all tenants' },
  { words: 'INSERT INTO tenant_use', reason: 'once a second, what a process has let in of each tenant' },
  { words: 'FROM reviews AS review', reason: 'the list of an operator, who serves every tenant' },
  { words: 'FROM reviews WHERE id = $1', reason: 'an operator names a review by its id alone' },
  {
    words: 'dead_at IS NOT NULL AND ($2::text IS NULL OR id < $2)',
    reason: "the operator's list of dead letters",
  },
  {
    words: 'WHERE id = $1 AND dead_at IS NOT NULL',
    reason: 'an operator names a dead letter by its id alone',
  },
  {
    words: '(SELECT tenants.id, $1::text FROM tenants)',
    reason: 'an operator names a message by its id alone',
  },
];
