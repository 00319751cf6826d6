import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/database/data-source.js';
import { isStoreUnavailable } from '../../src/database/errors.js';
import { changesOneRow, planned, statement } from '../../src/database/statement.js';
import { CommitRefused, CommitUnknown, UnexpectedRowCount } from '../../src/database/not-committed.js';
import { Database } from '../../src/database/transaction.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const ADD_TENANT = statement('test_add_tenant', 'INSERT INTO tenants (id, name) VALUES ($1, $1)');
const FAIL = statement('test_fail', 'SELECT 1 / 0');
const ALL = statement('test_all', 'SELECT id FROM tenants ORDER BY id');

describe('A transaction', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  const tenants = async () =>
    (await db.sql<{ id: string }>('SELECT id FROM tenants ORDER BY id')).map(({ id }) => id);
  beforeEach(() => db.sql('DELETE FROM tenants'));

  it('commits what was sent and what was awaited', async () => {
    await db.database.transaction(async (tx) => {
      tx.send(ADD_TENANT, ['a']);
      await tx.query(ADD_TENANT, ['b']);
    });
    expect(await tenants()).toEqual(['a', 'b']);
  });

  it('rolls back when its work throws', async () => {
    const work = db.database.transaction(async (tx) => {
      tx.send(ADD_TENANT, ['a']);
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect(await tenants()).toEqual([]);
  });

  it('reports the statement that failed first, not the echo of it', async () => {
    const work = db.database.transaction(async (tx) => {
      tx.send(FAIL);
      await tx.query(ADD_TENANT, ['a']);
    });
    await expect(work).rejects.toThrow('division by zero');
    expect(await tenants()).toEqual([]);
  });

  it('reports an error that its work has swallowed', async () => {
    const work = db.database.transaction(async (tx) => {
      await tx.query(ADD_TENANT, ['a']);
      await tx.query(FAIL).catch(() => undefined);
    });
    await expect(work).rejects.toThrow('division by zero');
    expect(await tenants()).toEqual([]);
  });

  it('does not take ROLLBACK for COMMIT where the error was swallowed out of its sight', async () => {
    const work = db.database.transaction(async (tx) => {
      await tx.query(ADD_TENANT, ['a']);
      await tx
        .managerFor('acme')
        .query('SELECT 1 / 0')
        .catch(() => undefined);
    });
    await expect(work).rejects.toThrow(CommitRefused);
    expect(await tenants()).toEqual([]);
  });

  const RENAME = changesOneRow('test_rename', 'UPDATE tenants SET name = $2 WHERE id = $1');

  it('is not committed where a row that it must change is not there, although the COMMIT has left with it', async () => {
    const work = db.database.transaction(async (tx) => {
      tx.send(ADD_TENANT, ['a']);
      tx.sendOne(RENAME, ['nobody', 'b']);
      tx.send(ADD_TENANT, ['c']);
      expect(tx.departed).toBe(false);
    });
    await expect(work).rejects.toThrow(UnexpectedRowCount);
    expect(await tenants()).toEqual([]);
  });

  it('is committed where the row is there; what it means that it is not is for the caller to say', async () => {
    await db.database.transaction(async (tx) => {
      tx.send(ADD_TENANT, ['a']);
      await tx.changeOne(RENAME, ['a', 'b']);
    });
    expect(await db.sql('SELECT * FROM tenants')).toMatchObject([{ id: 'a', name: 'b' }]);
    const late = db.database.transaction(async (tx) =>
      tx.sendOne(RENAME, ['b', 'c'], () => new Error('too late')),
    );
    await expect(late).rejects.toThrow('too late');
  });

  it('prepares anew what had not been prepared, as something before it had failed', async () => {
    const one = await createTestDatabase({ poolSize: 1 });
    const failing = one.database.transaction(async (tx) => {
      tx.send(FAIL);
      tx.send(ADD_TENANT, ['a']);
    });
    await expect(failing).rejects.toThrow('division by zero');
    await one.database.transaction(async (tx) => tx.send(ADD_TENANT, ['b']));
    await one.database.transaction(async (tx) => tx.send(ADD_TENANT, ['c'])); // prepared, by now
    expect(await one.database.query(ALL)).toEqual([{ id: 'b' }, { id: 'c' }]);
    await one.drop();
  });

  it('asks for the values of a statement as it leaves', async () => {
    let id = 'too early';
    await db.database.transaction(async (tx) => {
      const added = tx.execute({ ...ADD_TENANT, name: '' }, ['a']);
      tx.sendOne(RENAME, () => [id, 'b']);
      id = 'a';
      await added;
    });
    expect(await db.sql('SELECT * FROM tenants')).toMatchObject([{ id: 'a', name: 'b' }]);
  });

  it('sends nothing where a value cannot be sent, and its connection goes on', async () => {
    const one = await createTestDatabase({ poolSize: 1 });
    const circular: { self?: unknown } = {};
    circular.self = circular;
    const work = one.database.transaction(async (tx) => {
      tx.send(ADD_TENANT, ['a']);
      tx.send(ADD_TENANT, [circular]);
    });
    await expect(work).rejects.toThrow('circular');
    await one.database.transaction(async (tx) => tx.send(ADD_TENANT, ['b']));
    expect(await one.database.query(ALL)).toEqual([{ id: 'b' }]);
    await one.drop();
  });

  it('sends nothing where values cannot be made as it leaves, and its connection goes on', async () => {
    const one = await createTestDatabase({ poolSize: 1 });
    const unmade = () => {
      throw new Error('no values');
    };
    const atTheEnd = one.database.transaction(async (tx) => tx.sendOne(RENAME, unmade));
    await expect(atTheEnd).rejects.toThrow('no values');
    const meanwhile = one.database.transaction(async (tx) => {
      tx.send(ADD_TENANT, ['a']);
      tx.sendOne(RENAME, unmade);
      await tx.query(ALL);
    });
    await expect(meanwhile).rejects.toThrow('no values');
    await one.database.transaction(async (tx) => {
      tx.send(ADD_TENANT, ['b']);
      tx.sendOne(RENAME, ['b', 'c']);
    });
    expect(await one.database.query(ALL)).toEqual([{ id: 'b' }]);
    await one.drop();
  });

  it('never leaves where its work fails before it has waited for anything', async () => {
    let waiting: Promise<number> | undefined;
    const work = db.database.transaction(async (tx) => {
      waiting = tx.execute(ADD_TENANT, ['a']);
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    await expect(waiting).rejects.toThrow('Not carried out');
    expect(await tenants()).toEqual([]);
  });

  it('survives a process that throws nothing at all', async () => {
    const work = db.database.transaction(async (tx) => {
      await tx.query(ADD_TENANT, ['a']);
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- someone, somewhere, throws undefined
      throw undefined;
    });
    await expect(work).rejects.toBeUndefined();
    expect(await tenants()).toEqual([]);
  });

  it('is not committed by a transaction that a repository opens inside it', async () => {
    const work = db.database.transaction(async (tx) => {
      await tx
        .managerFor('acme')
        .transaction((inner) => inner.query("INSERT INTO tenants (id, name) VALUES ('a', 'a')"));
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect(await tenants()).toEqual([]);
  });

  it('does not hand a connection that was cut to the next one', async () => {
    const one = await createTestDatabase({ poolSize: 1 });
    const cut = one.database.transaction(async (tx) => {
      tx.send(ADD_TENANT, ['a']);
      tx.sever();
    });
    const next = one.database.transaction(async (tx) => tx.query(ADD_TENANT, ['b']));
    await expect(cut).rejects.toThrow();
    await next;
    await one.drop();
  });

  it('says that a COMMIT whose answer was lost is unknown, and the pool goes on', async () => {
    const work = db.database.transaction(async (tx) => {
      await tx.query(ADD_TENANT, ['a']);
      tx.loseCommitAnswer();
    });
    await expect(work).rejects.toThrow(CommitUnknown);
    await db.database.transaction(async (tx) => tx.send(ADD_TENANT, ['b']));
    expect(await tenants()).toEqual(['a', 'b']);
  });

  it('that is one flight has a BEGIN, without which Citus would commit its statements one by one', async () => {
    const onlyAfterBegin = statement('test_only_after_begin', 'SAVEPOINT here');
    await db.database.transaction(async (tx) => {
      tx.send(ADD_TENANT, ['a']);
      tx.send(onlyAfterBegin);
      expect(tx.departed).toBe(false);
    });
    expect(await tenants()).toEqual(['a']);
  });

  it('that is one flight fails where its commit does, with every statement carried out', async () => {
    await db.sql(`
      CREATE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE 'refused at the commit' USING ERRCODE = '23514'; END $$;
      CREATE CONSTRAINT TRIGGER never AFTER INSERT ON tenants DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION never()`);
    const work = db.database.transaction(async (tx) => tx.send(ADD_TENANT, ['a']));
    await expect(work).rejects.toThrow('refused at the commit');
    await db.sql('DROP TRIGGER never ON tenants; DROP FUNCTION never');
    expect(await tenants()).toEqual([]);
  });

  it('that is one flight is unknown where its connection ends before the answer', async () => {
    const work = db.database.transaction(async (tx) => {
      tx.send(ADD_TENANT, ['a']);
      tx.loseCommitAnswer();
    });
    await expect(work).rejects.toThrow(CommitUnknown);
    const ended = db.database.transaction(async (tx) => {
      tx.send(ADD_TENANT, ['b']);
      tx.send(planned('SELECT pg_terminate_backend(pg_backend_pid())'));
    });
    await expect(ended).rejects.toThrow(CommitUnknown);
    expect(await tenants()).toEqual(['a']);
  });

  it('survives its connection being cut, again and again', async () => {
    for (let round = 0; round < 25; round++) {
      const work = db.database.transaction(async (tx) => {
        tx.sever();
        await tx.query(ADD_TENANT, ['a']);
      });
      await expect(work).rejects.toThrow();
    }
    expect(await tenants()).toEqual([]);
  });

  it('lets repositories take part without opening a transaction of their own', async () => {
    const work = db.database.transaction(async (tx) => {
      await tx.managerFor('acme').query("INSERT INTO tenants (id, name) VALUES ('a', 'a')");
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect(await tenants()).toEqual([]);
  });
});

describe('A session that a pooler gave to somebody else in between', () => {
  it.each(['42P05', '26000'])('is no failure of the request: %s', (code) =>
    expect(isStoreUnavailable(Object.assign(new Error('prepared statement'), { code }))).toBe(true),
  );
});

describe('A database that is not connected yet', () => {
  it('is unavailable until the entities are known, also where its pool is there already', async () => {
    const { url, drop } = await createTestDatabase();
    const dataSource = new DataSource(
      dataSourceOptions({ url, poolSize: 1 }, { entities: [], migrations: [] }),
    );
    await dataSource.driver.connect(); // as far as a try comes that is cut short
    const database = new Database(dataSource);
    const errors = await Promise.all([
      database.query(ADD_TENANT, ['a']).catch((error: unknown) => error),
      database.transaction(async () => undefined).catch((error: unknown) => error),
    ]);
    expect(errors.map(isStoreUnavailable)).toEqual([true, true]);
    await dataSource.driver.disconnect();
    await drop();
  });

  it('stays connected where somebody connects again', async () => {
    const { url, drop } = await createTestDatabase();
    const database = new Database(
      new DataSource(dataSourceOptions({ url, poolSize: 1 }, { entities: [], migrations: [] })),
    );
    await database.connect();
    await database.connect();
    await expect(database.query({ name: '', text: 'SELECT 1 AS one' })).resolves.toEqual([{ one: 1 }]);
    await database.close();
    await drop();
  });

  it('leaves no session behind where a try to connect fails half-way', async () => {
    const { url, sql, drop } = await createTestDatabase();
    await sql('REVOKE EXECUTE ON FUNCTION version() FROM PUBLIC'); // what TypeORM asks first
    await sql("CREATE ROLE half_way LOGIN PASSWORD 'half_way'");
    const limited = Object.assign(new URL(url), { username: 'half_way', password: 'half_way' }).href;
    const database = new Database(
      new DataSource(dataSourceOptions({ url: limited, poolSize: 1 }, { entities: [], migrations: [] })),
    );
    for (let tries = 0; tries < 3; tries++)
      await expect(database.connect()).rejects.toThrow('permission denied for function version');
    while ((await sql("SELECT 1 FROM pg_stat_activity WHERE usename = 'half_way'")).length > 0);
    await sql('GRANT EXECUTE ON FUNCTION version() TO PUBLIC');
    await database.connect();
    await database.close();
    await sql('DROP OWNED BY half_way; DROP ROLE half_way');
    await drop();
  });
});
