import { DataSource, type QueryRunner } from 'typeorm';
import { dataSourceOptions } from '../../src/database/data-source.js';
import { migrations } from '../../src/database/schema.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { breaks, schemaParts } from '../support/schema-parts.js';

/**
 * What the build before a migration may trip over, each with the reason why that was allowed. Whoever adds a line says
 * why no build of before can be running, or why it does not mind; otherwise add first, and remove a release later.
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  // Reversals are one more kind; the two guards hold what the build of before saw to by itself.
  RefundReversals1764464400000: [
    'changes constraint ledger_entries.ledger_entries_kind_check',
    'demands constraint refunds.refunds_check',
    'demands constraint refunds.refunds_tenant_id_derived_key_key',
  ],
  // One more kind again.
  OwedBack1764482400000: ['changes constraint ledger_entries.ledger_entries_kind_check'],
  // The build of before still finds what is due, by reading more, and tries what was given up.
  DeadEvents1764486900000: ['changes index inbox_messages.inbox_messages_due'],
  // Wider, and only where a row is sealed, which the build of before never does.
  SealedValues1764502200000: ['changes constraint idempotency_keys.idempotency_keys_reply_body_check'],
  // No tenant was ever called a star.
  RowSecurity1764506400000: ['demands constraint tenants.tenants_id_names_one'],
};

describe('The build before a migration', () => {
  let db: TestDatabase;
  let dataSource: DataSource;
  let runner: QueryRunner;
  beforeEach(async () => {
    db = await createTestDatabase({ empty: true });
    const options = dataSourceOptions({ url: db.url, poolSize: 1 }, { entities: [], migrations: [] });
    dataSource = await new DataSource(options).initialize();
    runner = dataSource.createQueryRunner();
  });
  afterEach(async () => {
    await dataSource.destroy();
    await db.drop();
  });

  const brokenBy = async (change: () => Promise<unknown>) => {
    const before = await schemaParts(db);
    await change();
    return breaks(before, await schemaParts(db));
  };

  it('runs on after it: nothing that it uses is taken away, and nothing is asked of it that it does not give', async () => {
    const broken: Record<string, string[]> = {};
    for (const Migration of migrations) {
      const found = await brokenBy(() => new Migration().up(runner));
      if (found.length > 0) broken[Migration.name] = found;
    }
    expect(broken).toEqual(ALLOWED);
    expect((await schemaParts(db)).length).toBeGreaterThan(100);
  });

  describe('would be broken by one that', () => {
    beforeEach(() =>
      runner.query(`
        CREATE TABLE parcels (
          id text PRIMARY KEY, weight integer NOT NULL DEFAULT 0, note text, tracked boolean NOT NULL, CHECK (weight >= 0));
        CREATE INDEX parcels_heavy ON parcels (weight);
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`),
    );

    it.each([
      ['DROP TABLE parcels', expect.arrayContaining(['takes away table parcels'])],
      ['ALTER TABLE parcels DROP note', ['takes away column parcels.note']],
      ['ALTER TABLE parcels RENAME note TO words', ['takes away column parcels.note']],
      ['ALTER TABLE parcels ALTER note TYPE varchar(9)', ['changes column parcels.note']],
      ['ALTER TABLE parcels ALTER note SET NOT NULL', ['changes column parcels.note']],
      ['ALTER TABLE parcels ALTER weight DROP DEFAULT', ['changes column parcels.weight']],
      ['ALTER TABLE parcels ADD size integer NOT NULL', ['demands column parcels.size']],
      ["ALTER TABLE parcels ADD CHECK (note <> '')", ['demands constraint parcels.parcels_note_check']],
      [
        "ALTER TABLE parcels ADD CHECK (note <> '') NOT VALID",
        ['demands constraint parcels.parcels_note_check'],
      ],
      ['ALTER TABLE parcels ADD UNIQUE (note)', ['demands constraint parcels.parcels_note_key']],
      ['CREATE UNIQUE INDEX parcels_one ON parcels (note)', ['demands index parcels.parcels_one']],
      [
        'ALTER TABLE parcels ADD FOREIGN KEY (note) REFERENCES parcels',
        ['demands constraint parcels.parcels_note_fkey'],
      ],
      ['DROP INDEX parcels_heavy', ['takes away index parcels.parcels_heavy']],
      [
        'CREATE TRIGGER refused BEFORE INSERT ON parcels FOR EACH ROW EXECUTE FUNCTION refuse()',
        ['demands trigger parcels.refused'],
      ],
    ])('says %s', async (sql, found) => {
      expect(await brokenBy(() => runner.query(sql))).toEqual(found);
    });

    it('is not by one that only adds', async () => {
      const added = `
        CREATE TABLE drivers (id text PRIMARY KEY, name text NOT NULL UNIQUE);
        ALTER TABLE parcels ADD driver text REFERENCES drivers, ADD lost boolean NOT NULL DEFAULT false,
          ADD CHECK (NOT lost OR driver IS NOT NULL), ADD UNIQUE (driver, weight);
        CREATE INDEX parcels_lost ON parcels (weight) WHERE lost`;
      expect(await brokenBy(() => runner.query(added))).toEqual([]);
    });
  });
});
