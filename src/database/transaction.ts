import pg, { type Pool, type PoolClient } from 'pg';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { isAborted, isRolledBack } from './errors.js';

/** A statement with a name is prepared once per connection and then only executed. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** `statement('find_order', 'SELECT …')`: names are unique in the service, as PostgreSQL keeps one text per name. */
export function statement(name: string, text: string): Statement {
  return { name, text };
}

/** Without a name, so that it is planned each time for the rows as they are now, and not for when a queue was empty. */
export function planned(text: string): Statement {
  return statement('', text);
}

/**
 * A COMMIT went out and its answer never came back: it may or may not have happened.
 * Only reading what it would have written can tell; repeating it blindly could do the work twice.
 */
export class CommitUnknown extends Error {
  /** SQLSTATE transaction_resolution_unknown: to callers that cannot resolve it, the store is unavailable. */
  readonly code = '08007';

  constructor(override readonly cause: unknown) {
    super('The answer to a COMMIT was lost');
    this.name = 'CommitUnknown';
  }
}

/** PostgreSQL answered COMMIT with ROLLBACK: an error inside the transaction was swallowed by its caller. */
export class CommitRefused extends Error {
  constructor() {
    super('COMMIT was answered with ROLLBACK: a statement had failed and its error was swallowed');
    this.name = 'CommitRefused';
  }
}

/** A write that an invariant says must change one row changed another number of them: nothing may commit. */
export class UnexpectedRowCount extends Error {
  constructor(statement: string, count: number) {
    super(`${statement} changed ${count} rows, and not one`);
    this.name = 'UnexpectedRowCount';
  }
}

/**
 * One open transaction. `query` waits for its rows; `send` does not wait: statements sent one after the other
 * share a flight to the database, and the first that fails fails the transaction before its COMMIT.
 * `manager` is TypeORM's view of the same transaction, for where repositories read better.
 */
export class Tx {
  private readonly sent: Promise<unknown>[] = [];
  private readonly afterwards = new Set<() => void>();
  private severed = false;

  constructor(
    private readonly client: PoolClient,
    readonly manager: EntityManager,
  ) {
    // Never a prepared statement: one that the server has lost would fail alone, and the rest would commit by itself.
    void this.expect(this.client.query('BEGIN'));
  }

  query<Row>({ name, text }: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return this.expect(
      this.client.query<Row & object>({ name, text, values: values as unknown[] }).then(({ rows }) => rows),
    );
  }

  /** Rows changed; sent at once, so that it shares a flight with what follows until it is awaited. */
  execute({ name, text }: Statement, values: readonly unknown[] = []): Promise<number> {
    return this.expect(
      this.client.query({ name, text, values: values as unknown[] }).then(({ rowCount }) => rowCount ?? 0),
    );
  }

  send(statement: Statement, values: readonly unknown[] = []): void {
    void this.execute(statement, values);
  }

  /** Sends a write that must change exactly one row: a conditional update whose condition is an invariant. */
  sendOne(statement: Statement, values: readonly unknown[] = []): void {
    const checked = this.execute(statement, values).then((count) => {
      if (count !== 1) throw new UnexpectedRowCount(statement.name, count);
    });
    void this.expect(checked);
  }

  /** Whatever fails, `settle` reports it; it is never an unhandled rejection, awaited or not. */
  private expect<T>(result: Promise<T>): Promise<T> {
    result.catch(() => undefined);
    this.sent.push(result);
    return result;
  }

  /** Calls `listener` once the COMMIT is confirmed; never after a rollback. It must not throw. */
  afterCommit(listener: () => void): void {
    this.afterwards.add(listener);
  }

  /** Waits for everything sent so far. @throws the first error among them */
  async settle(): Promise<void> {
    await Promise.all(this.sent);
  }

  /** For fault points only: the next COMMIT reaches PostgreSQL, and its answer never comes back. */
  loseCommitAnswer(): void {
    this.severed = true;
  }

  /** The connection is gone, and not for the pool any more: after a COMMIT without an answer, or as a fault. */
  sever(): void {
    socketOf(this.client).destroy();
    void this.client.end(); // so that the pool knows at once
  }

  /** Everything sent must have settled. @throws CommitUnknown, CommitRefused */
  async commit(): Promise<void> {
    const answer = this.client.query<never>('COMMIT');
    if (this.severed) socketOf(this.client).destroySoon();
    const { command } = await answer.catch((error: unknown) => {
      if (isRolledBack(error)) throw error;
      this.sever(); // its state is unknown
      throw new CommitUnknown(error);
    });
    if (command !== 'COMMIT') throw new CommitRefused();
    for (const listener of this.afterwards) listener();
  }

  /** The server rolls back by itself where the ROLLBACK cannot reach it. */
  async rollback(): Promise<void> {
    await this.client.query('ROLLBACK').catch(() => this.sever());
  }
}

/** pg keeps its socket on an untyped field; only the fault points reach for it. */
function socketOf(client: PoolClient): { destroy(): void; destroySoon(): void } {
  return (client as unknown as { connection: { stream: { destroy(): void; destroySoon(): void } } })
    .connection.stream;
}

/** The database as the service uses it: single statements, and transactions whose COMMIT is checked. */
export class Database {
  private reserved: Pool | undefined;

  constructor(readonly dataSource: DataSource) {}

  /** @throws where it did not come to be; nothing of the try is left then */
  async connect(): Promise<void> {
    try {
      await this.dataSource.initialize();
    } catch (error) {
      const driver = this.dataSource.driver as PostgresDriver;
      if (driver.master) await driver.disconnect(); // TypeORM forgets the pool of a try that failed half-way
      throw error;
    }
  }

  /** One statement outside any transaction: one round trip. */
  async query<Row>({ name, text }: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const result = await this.pool.query<Row & object>({ name, text, values: values as unknown[] });
    return result.rows;
  }

  /**
   * Runs `work` in one transaction and commits it. BEGIN shares its flight with the first statements of `work`.
   * Make no call to another system inside `work`: it would hold a connection and its locks for as long as that takes.
   * @throws whatever `work` throws, after a rollback; CommitUnknown; CommitRefused
   */
  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    this.requireConnected();
    const runner = this.dataSource.createQueryRunner();
    const client = (await runner.connect()) as PoolClient;
    try {
      const tx = begin(client, runner);
      const result = await this.run(work, tx);
      await tx.commit();
      return result;
    } finally {
      await runner.release();
    }
  }

  private async run<T>(work: (tx: Tx) => Promise<T>, tx: Tx): Promise<T> {
    try {
      const result = await work(tx);
      await tx.settle();
      return result;
    } catch (error) {
      await tx.rollback();
      if (isAborted(error)) await tx.settle(); // only the echo of the statement that failed before: report that one
      throw error;
    }
  }

  /**
   * One statement on a connection of its own, which a full pool cannot keep waiting: for what must not queue
   * behind the work that it guards (lease renewals, readiness).
   */
  async queryReserved<Row>({ name, text }: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    this.reserved ??= reservedPool(this.dataSource);
    const result = await this.reserved.query<Row & object>({ name, text, values: values as unknown[] });
    return result.rows;
  }

  /** Connections of the pool; undefined while there is none. */
  poolUse(): { total: number; idle: number; waiting: number } | undefined {
    if (!this.dataSource.isInitialized) return undefined;
    const { totalCount: total, idleCount: idle, waitingCount: waiting } = this.pool;
    return { total, idle, waiting };
  }

  async close(): Promise<void> {
    await Promise.all([this.reserved?.end(), this.dataSource.isInitialized && this.dataSource.destroy()]);
  }

  private get pool(): Pool {
    this.requireConnected();
    return (this.dataSource.driver as PostgresDriver).master as Pool;
  }

  /**
   * While TypeORM connects, and after a try that failed half-way, there is a pool already and no entity is known yet:
   * a query might work, and a repository would not.
   */
  private requireConnected(): void {
    if (!this.dataSource.isInitialized) throw new Error('Driver not Connected'); // TypeORM's words: see `isStoreUnavailable`
  }
}

function begin(client: PoolClient, runner: QueryRunner): Tx {
  // TypeORM must take part in our transaction: `save` must not open one, nor `manager.transaction` commit it.
  Object.assign(runner, { isTransactionActive: true, transactionDepth: 1 });
  return new Tx(client, runner.manager);
}

/** Guards must not hang with a connection that is half open: shorter than a third of any lease. */
const RESERVED_TIMEOUT_MS = 1_000;

function reservedPool({ options }: DataSource): Pool {
  const { url, extra } = options as { url?: string; extra: pg.PoolConfig };
  const pool = new pg.Pool({
    connectionString: url,
    ...extra,
    max: 1,
    connectionTimeoutMillis: RESERVED_TIMEOUT_MS,
    query_timeout: RESERVED_TIMEOUT_MS,
  });
  pool.on('error', () => undefined); // an idle connection was cut: the next query opens another
  return pool;
}
