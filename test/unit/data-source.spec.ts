import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/database/data-source.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

describe('What PostgreSQL calls a session', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());
  afterEach(() => {
    delete process.env['PGAPPNAME'];
  });

  async function nameOf(lease?: number): Promise<string> {
    const options = dataSourceOptions({ url: db.url, poolSize: 1, lease }, { entities: [], migrations: [] });
    const dataSource = await new DataSource(options).initialize();
    const [row] = await dataSource.query<{ application_name: string }[]>('SHOW application_name');
    await dataSource.destroy();
    return row!.application_name;
  }

  it('tells the service from its tools', async () => {
    expect([await nameOf(30), await nameOf()]).toEqual(['checkout', 'checkout-tools']);
  });

  it('is the name that the process was given, where it was given one', async () => {
    process.env['PGAPPNAME'] = 'api-2';
    expect([await nameOf(30), await nameOf()]).toEqual(['api-2', 'api-2']);
  });
});
