import { randomUUID } from 'node:crypto';
import { Attempt } from './attempt.js';
import type { IdempotencyKeyStore } from './idempotency-key.store.js';
import { KeyTaken } from './ownership.js';

/**
 * A new attempt at a key that nobody holds; a live lease is never broken. @throws KeyTaken
 * @param seen the version at which the key was read: where it has moved on since, somebody else was first
 */
export async function takeOver(
  store: IdempotencyKeyStore,
  tenantId: string,
  key: string,
  seen: number,
): Promise<Attempt> {
  const leasedAt = performance.now();
  const row = await store.takeOver(tenantId, key, seen, randomUUID());
  if (!row) throw new KeyTaken();
  return Attempt.resumed(tenantId, key, row, leasedAt);
}
