import { checkoutBody, orderBody, post } from '../support/checkout.js';
import { OPERATORS } from '../support/operator.js';
import { pay, refund } from '../support/refunds.js';
import { openShop, type Shop } from '../support/shop.js';
import { STRIPE_WEBHOOK_SECRETS } from '../support/webhooks.js';

/** The service, with something of everything in it, and with a note of whatever writes to its tables. */
export interface Target {
  readonly shop: Shop;
  /** What there is by now, by the prefix of its id. */
  ids(): Promise<Readonly<Record<string, readonly string[]>>>;
  /** More of everything: requests use it up. */
  stock(): Promise<void>;
  /** The tables that were written to since the last time of asking, by what has committed. */
  written(): Promise<string[]>;
}

/** Nothing works in the background but the note of a key's last use: whatever else is written, a request has written. */
export async function openTarget(): Promise<Target> {
  const shop = await openShop({ ROLE: 'api', OPERATOR_TOKENS: OPERATORS.ada, STRIPE_WEBHOOK_SECRETS });
  await noteWrites(shop);
  const written = async () => {
    const rows = await shop.db.sql<{ name: string }>('DELETE FROM noted_writes RETURNING name');
    return [...new Set(rows.map(({ name }) => name))];
  };
  return { shop, written, ids: () => idsIn(shop), stock: () => stock(shop) };
}

async function noteWrites({ db }: Shop): Promise<void> {
  const tables = await db.sql<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT IN ('migrations', 'api_keys')`,
  );
  await db.sql('CREATE UNLOGGED TABLE noted_writes (name text NOT NULL)');
  await db.sql(
    `CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
     $$ BEGIN INSERT INTO noted_writes VALUES (TG_TABLE_NAME); RETURN NULL; END $$`,
  );
  for (const { name } of tables)
    await db.sql(
      `CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON "${name}" FOR EACH ROW EXECUTE FUNCTION note_write()`,
    );
}

const TABLES = { ord: 'orders', ch: 'charges', re: 'refunds', rev: 'reviews', msg: 'outbox_messages' };

async function idsIn({ db }: Shop) {
  const found = await Promise.all(
    Object.entries(TABLES).map(async ([kind, table]) => {
      const rows = await db.sql<{ id: string }>(`SELECT id FROM ${table} ORDER BY id DESC LIMIT 40`);
      return [kind, rows.map(({ id }) => id)] as const;
    }),
  );
  return Object.fromEntries(found);
}

async function stock({ api, db }: Shop): Promise<void> {
  for (let number = 0; number < 4; number++) {
    await post(`${api.url}/v1/orders`, orderBody());
    const { charge } = await pay(api.url);
    if (number === 0) await refund(api.url, charge.id, { amount: 100 });
  }
  await post(`${api.url}/v1/checkouts`, checkoutBody({ paymentMethod: 'pm_card_authenticationRequired' }));
  await db.sql('UPDATE outbox_messages SET dead_at = now(), due_at = NULL WHERE sent_at IS NULL');
  await db.sql(
    `INSERT INTO reviews (tenant_id, id, subject_kind, subject_id, reason, evidence)
     SELECT 'acme', 'rev_' || left(md5(random()::text), 26), 'event', 'evt_' || gen_random_uuid(), 'charge_unknown', '{"event":"evt_1"}'
     FROM generate_series(1, 4)`,
  );
}
