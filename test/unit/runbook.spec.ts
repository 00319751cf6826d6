import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { loadConfig } from '../../src/config/config.js';
import { OperatorTokens } from '../../src/operator/operator-tokens.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { OPERATORS } from '../support/operator.js';
import { environment } from '../support/start-api.js';

describe('The runbook', () => {
  let db: TestDatabase;
  let text: string;
  beforeAll(async () => {
    [db, text] = await Promise.all([createTestDatabase(), readFile('docs/runbook.md', 'utf8')]);
  });
  afterAll(() => db.drop());

  it('has queries that run', async () => {
    const queries = [...text.matchAll(/```sql\n([^`]+)```/g)].map(([, sql]) => sql!);
    expect(queries.length).toBeGreaterThan(1);
    for (const sql of queries) expect(await db.sql(sql)).toEqual(expect.any(Array));
  });

  it('names the commands that there are', async () => {
    const usage = execFileSync(process.execPath, ['scripts/operator.mjs', '--help'], { encoding: 'utf8' });
    const known = [...usage.matchAll(/operator -- (\S+)/g)].map(([, command]) => command);
    const named = [...text.matchAll(/operator -- ([a-z-]+)/g)].map(([, command]) => command!);
    expect(known).toEqual(expect.arrayContaining(named));
    expect(named).toEqual(expect.arrayContaining(['reviews', 'dead-letters', 'requeue', 'purge']));
  });

  it('says how to find out whose label it is that decided', () => {
    const config = loadConfig(environment({ databaseUrl: db.url, OPERATOR_TOKENS: OPERATORS.ada }));
    const hmac = createHmac('sha256', config.hashSecret).update(OPERATORS.ada).digest('hex');
    const { label } = new OperatorTokens(config).operatorOf(OPERATORS.ada)!;
    expect(label).toBe(`operator ${hmac.slice(0, 8)}`);
  });
});
