import pg from 'pg';
import { dueTenants, ofEarliest } from '../../src/database/earliest.js';
import { Flight } from '../../src/database/flight.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const ROWS = { table: 'outbox_messages', at: 'due_at', where: 'due_at IS NOT NULL' };
const EARLIEST = ofEarliest('', ROWS, 'SELECT tenant_id, extract(epoch FROM at)::float8 AS at FROM earliest');

/** `early` is due before now, `late` waits, and `done` has nothing that is due or waits. */
const MESSAGES = [
  ['early', '1970-01-01 00:00:07Z'],
  ['early', '1970-01-01 00:00:03Z'],
  ['early', '2999-01-01 00:00:00Z'],
  ['done', null],
  ['late', '2999-01-01 00:00:01Z'],
  ['late', '2999-01-01 00:00:00Z'],
] as const;

describe('The earliest of each tenant', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
    for (const [place, [tenant, due]] of MESSAGES.entries())
      await db.sql(
        `INSERT INTO outbox_messages (tenant_id, id, dedupe_key, topic, payload, due_at, sent_at)
         VALUES ($1, $2, $2, 'topic', '{}', $3, CASE WHEN $3::timestamptz IS NULL THEN now() END)`,
        [tenant, `m${place}`, due],
      );
  });
  afterAll(() => db.drop());

  const inBothWords = ({ text, spread }: { text: string; spread?: string }) =>
    Promise.all([text, spread!].map(async (sql) => new Set(await db.sql(sql))));

  it('is found by hopping along the index, and the same by reading it', async () => {
    const earliest = new Set([
      { tenant_id: 'early', at: 3 },
      { tenant_id: 'late', at: Date.parse('2999-01-01') / 1_000 },
    ]);
    expect(await inBothWords(EARLIEST)).toEqual([earliest, earliest]);
  });

  it('says which tenants have something due', async () => {
    const due = new Set([{ tenantId: 'early' }]);
    expect(await inBothWords(dueTenants(ROWS))).toEqual([due, due]);
  });

  it('is asked for in the words that the database takes', async () => {
    const client = new pg.Client({ connectionString: db.url, ...{ pipeline: true } });
    await client.connect();
    const asked = { name: '', text: "SELECT 'hop' AS by", spread: "SELECT 'read' AS by" };
    for (const [spread, by] of [
      [false, 'hop'],
      [true, 'read'],
    ] as const) {
      const flight = new Flight({ named: true, secured: false, spread });
      const answer = flight.add(asked, [], { rows: true });
      flight.depart(client);
      expect((await answer).rows).toEqual([{ by }]);
    }
    await client.end();
  });
});
