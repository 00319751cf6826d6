import { randomUUID } from 'node:crypto';
import { Attempt } from './attempt.js';
import type { KeyRow } from './idempotency-key.row.js';
import type { IdempotencyKeyStore } from './idempotency-key.store.js';
import { KeyTaken } from './ownership.js';

/**
 * A new attempt at a key that nobody holds; a live lease is never broken.
 * @param seen as the key was read: where it has moved on since, somebody else was first
 * @throws KeyTaken. Problem 503, and nothing is written, where what it stores cannot be opened
 */
export async function takeOver(
  store: IdempotencyKeyStore,
  tenantId: string,
  key: string,
  seen: KeyRow,
): Promise<Attempt> {
  const leasedAt = performance.now();
  Attempt.resumed(tenantId, key, seen, leasedAt); // opens what is stored, before the key is taken
  const row = await store.takeOver(tenantId, key, seen.version, randomUUID());
  if (!row) throw new KeyTaken();
  return Attempt.resumed(tenantId, key, row, leasedAt);
}
