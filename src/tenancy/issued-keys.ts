import { statement } from '../database/statement.js';
import type { Database } from '../database/transaction.js';

/** What may be shown of an API key. */
export interface IssuedKey {
  /** `key_` and twelve digits of its hash, which is keyed and leads nowhere. */
  readonly id: string;
  readonly tenantId: string;
  readonly prefix: string;
  readonly createdAt: Date;
  /** To within two minutes. */
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

/** @returns undefined where there is no such tenant; its keys, the oldest first */
export async function keysOf(database: Database, tenantId: string): Promise<IssuedKey[] | undefined> {
  const rows = await database.query<IssuedKey | { id: null }>(KEYS, [tenantId]);
  return rows.length === 0 ? undefined : rows.filter((row): row is IssuedKey => row.id !== null);
}

/** @param name the id of a key, or its prefix @returns every key of that name, of whichever tenant */
export function keysNamed(database: Database, name: string): Promise<IssuedKey[]> {
  return database.query<IssuedKey>(NAMED, [name]);
}

/** Revoking again changes nothing: the first time stands. */
export async function revokeKey(database: Database, id: string): Promise<IssuedKey> {
  const [revoked] = await database.query<IssuedKey>(REVOKE, [id]);
  return revoked!; // keys are never deleted
}

/** As the statements below have it. */
export function idOf(hash: Buffer): string {
  return `key_${hash.toString('hex').slice(0, 12)}`;
}

const ID = "'key_' || left(encode(hash, 'hex'), 12)";
const SHOWN = `${ID} AS id, tenant_id AS "tenantId", prefix, api_keys.created_at AS "createdAt",
  last_used_at AS "lastUsedAt", revoked_at AS "revokedAt"`;

/** A tenant without a key is one row, with nothing of a key in it. */
const KEYS = statement(
  'api_keys_of_tenant',
  `SELECT ${SHOWN} FROM tenants LEFT JOIN api_keys ON tenant_id = tenants.id
    WHERE tenants.id = $1 ORDER BY api_keys.created_at, hash`,
);
const NAMED = statement(
  'api_keys_named',
  `SELECT ${SHOWN} FROM api_keys WHERE ${ID} = $1 OR prefix = $1 ORDER BY created_at, hash`,
);
const REVOKE = statement(
  'api_key_revoke',
  `UPDATE api_keys SET revoked_at = least(revoked_at, now()) WHERE ${ID} = $1 RETURNING ${SHOWN}`,
);
