import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = [
  'orders',
  'order_items',
  'charges',
  'refunds',
  'erasures',
  'ledger_entries',
  'outbox_messages',
  'inbox_messages',
  'reviews',
  'idempotency_keys',
  'tenant_use',
];

/**
 * A role that does not own the tables sees the rows of the tenant that its transaction names, and no others; the owner
 * sees all of them, as before. API keys, which are read before a tenant is known, are reached by two functions alone.
 */
export class RowSecurity1764506400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE tenants ADD CONSTRAINT tenants_id_names_one CHECK (id <> '*') NOT VALID`);
    for (const table of TABLES) await secure(runner, table, 'tenant_id');
    await secure(runner, 'tenants', 'id');
    await runner.query(`ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY`);
    await runner.query(`
      CREATE FUNCTION tenant_of_api_key(wanted bytea) RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
      BEGIN ATOMIC
        SELECT tenant_id FROM api_keys WHERE hash = wanted AND revoked_at IS NULL;
      END`);
    await runner.query(`
      CREATE FUNCTION mark_api_keys_used(hashes bytea[], fresh interval) RETURNS void LANGUAGE sql SECURITY DEFINER
      BEGIN ATOMIC
        UPDATE api_keys SET last_used_at = now() WHERE hash IN (
          SELECT hash FROM api_keys
           WHERE hash = ANY (hashes) AND (last_used_at < now() - fresh) IS NOT FALSE
             FOR NO KEY UPDATE SKIP LOCKED);
      END`);
    await runner.query(`
      REVOKE EXECUTE ON FUNCTION tenant_of_api_key, mark_api_keys_used FROM PUBLIC;
      COMMENT ON FUNCTION tenant_of_api_key IS 'Whom the key with this hash speaks for; null where there is none, or it is revoked.';
      COMMENT ON FUNCTION mark_api_keys_used IS 'Notes the time for those that were not marked just now. Waits for no lock.';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP FUNCTION tenant_of_api_key, mark_api_keys_used`);
    for (const table of [...TABLES, 'tenants']) {
      await runner.query(`DROP POLICY own_tenant ON ${table}`);
      await runner.query(`ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY`);
    }
    await runner.query(`ALTER TABLE api_keys DISABLE ROW LEVEL SECURITY`);
    await runner.query(`ALTER TABLE tenants DROP CONSTRAINT tenants_id_names_one`);
  }
}

/** A star stands for all tenants, for what finds, counts and lists across them. Where no tenant is named there are no rows. */
async function secure(runner: QueryRunner, table: string, tenant: string): Promise<void> {
  await runner.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
  await runner.query(`CREATE POLICY own_tenant ON ${table} USING
    (${tenant} = current_setting('checkout.tenant', true) OR current_setting('checkout.tenant', true) = '*')`);
}
