import type { Pool, PoolClient, QueryResult } from 'pg';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { CITUS } from './citus.js';
import { isDivisionByZero, isRolledBack } from './errors.js';
import { Flight, NotCarriedOut, type Manner } from './flight.js';
import { CommitRefused, CommitUnknown, isEcho, UnexpectedRowCount } from './not-committed.js';
import { reservedPool } from './reserved-pool.js';
import { ROW_SECURITY, SET_TENANT, type RowSecurity } from './row-security.js';
import { planned, type DecisiveStatement, type Statement, type Values } from './statement.js';

/**
 * One open transaction. Statements are sent when somebody waits for one of them, or at the end: what does not wait
 * shares a flight to the database, the COMMIT too. The first that fails fails the transaction before its COMMIT.
 */
export class Tx {
  private readonly sent: Promise<unknown>[] = [];
  private readonly afterwards = new Set<() => void>();
  private runner: QueryRunner | undefined;
  private flight: Flight | undefined;
  private answered: Promise<unknown> | undefined;
  private failed = false;
  private severed = false;

  constructor(
    private readonly client: PoolClient,
    private readonly dataSource: DataSource,
    private readonly manner: Manner,
  ) {
    void this.expect(this.add(BEGIN));
  }

  /** TypeORM's view of this transaction, for where repositories read a tenant's rows; asked anew for each query. */
  managerFor(tenantId: string): EntityManager {
    if (this.manner.secured) this.send(SET_TENANT, [tenantId]);
    this.depart();
    return (this.runner ??= this.takePart()).manager;
  }

  /** Waits for its rows. */
  query<Row>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return this.expect(this.add(statement, values, { rows: true }).then(({ rows }) => rows as Row[]));
  }

  /** Rows changed. */
  execute(statement: Statement, values: readonly unknown[] = []): Promise<number> {
    return this.expect(this.add(statement, values).then(({ rowCount }) => rowCount ?? 0));
  }

  /** Does not wait. */
  send(statement: Statement, values: readonly unknown[] = []): void {
    void this.expect(this.add(statement, values));
  }

  /** Where the row is not there to be changed, the transaction fails, with `otherwise`. */
  changeOne(
    statement: DecisiveStatement,
    values: Values,
    otherwise: () => Error = () => new UnexpectedRowCount(statement.name),
  ): Promise<void> {
    const changed = this.add(statement, values).then(
      () => undefined,
      (error: unknown) => {
        throw isDivisionByZero(error) ? otherwise() : error;
      },
    );
    return this.expect(changed);
  }

  /** As `changeOne`, and does not wait. */
  sendOne(statement: DecisiveStatement, values: Values, otherwise?: () => Error): void {
    void this.changeOne(statement, values, otherwise);
  }

  /** Whether anything has been sent. */
  get departed(): boolean {
    return this.answered !== undefined;
  }

  /** Calls `listener` once the COMMIT is confirmed; never after a rollback. It must not throw. */
  afterCommit(listener: () => void): void {
    this.afterwards.add(listener);
  }

  /** Waits for everything sent so far. @throws the first error among them */
  async settle(): Promise<void> {
    this.depart();
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

  /**
   * Sends the COMMIT behind what has not been sent yet, once all that has been sent is answered.
   * @throws CommitUnknown, CommitRefused, or why it was not carried out
   */
  async commit(): Promise<void> {
    await this.answered;
    const answer = this.add(COMMIT);
    this.depart();
    if (this.severed) socketOf(this.client).destroySoon();
    const { command } = await answer.catch((error: unknown) => this.notCommitted(error));
    if (command !== 'COMMIT') throw new CommitRefused();
    for (const listener of this.afterwards) listener();
  }

  private async notCommitted(error: unknown): Promise<never> {
    if (error instanceof NotCarriedOut) await this.settle(); // throws what failed before it
    if (isRolledBack(error)) throw error;
    this.sever(); // its state is unknown
    throw new CommitUnknown(error);
  }

  /** What was not sent never will be. The server rolls back by itself where the ROLLBACK cannot reach it. */
  async rollback(): Promise<void> {
    this.flight?.cancel();
    this.flight = undefined;
    if (this.answered) await this.client.query('ROLLBACK').catch(() => this.sever());
  }

  /** After a failure nothing more is sent: should BEGIN have failed, it would be committed by itself. */
  private add(statement: Statement, values: Values = [], wanted = { rows: false }): Promise<QueryResult> {
    if (this.failed) return Promise.reject(new NotCarriedOut());
    this.flight ??= this.board();
    return this.flight.add(statement, values, wanted);
  }

  /** It leaves when nobody has anything to add without waiting for something. */
  private board(): Flight {
    const flight = new Flight(this.manner);
    process.nextTick(() => this.flight === flight && this.depart());
    return flight;
  }

  private depart(): void {
    if (!this.flight) return;
    this.flight.depart(this.client);
    this.answered = this.flight.answer;
    this.flight = undefined;
  }

  /** TypeORM's runner on this connection, as if it were its own, and had begun: `save` must not, nor may it commit. */
  private takePart(): QueryRunner {
    const inTransaction = { isTransactionActive: true, transactionDepth: 1 };
    return Object.assign(this.dataSource.createQueryRunner(), {
      databaseConnection: this.client,
      ...inTransaction,
    });
  }

  /** Whatever fails, `settle` reports it; it is never an unhandled rejection, awaited or not. */
  private expect<T>(result: Promise<T>): Promise<T> {
    result.catch(() => (this.failed = true));
    this.sent.push(result);
    return result;
  }
}

// Without names: prepared statements can be lost (a pooler gave the session to others), and these must not.
const BEGIN = planned('BEGIN');
const COMMIT = planned('COMMIT');

/** pg keeps its socket on an untyped field; only the fault points reach for it. */
function socketOf(client: PoolClient): { destroy(): void; destroySoon(): void } {
  return (client as unknown as { connection: { stream: { destroy(): void; destroySoon(): void } } })
    .connection.stream;
}

/** The database as the service uses it: single statements, and transactions whose COMMIT is checked. */
export class Database {
  private reserved: Pool | undefined;
  /** Until it is known, tenants are named: in vain, at worst. */
  private manner: Manner;

  /** @param named whether statements are prepared, once per connection: not where a pooler gives it to others in between */
  constructor(
    readonly dataSource: DataSource,
    named = true,
  ) {
    this.manner = { named, secured: true, spread: false };
  }

  /** @throws where it did not come to be; nothing of the try is left then */
  async connect(): Promise<void> {
    if (this.dataSource.isInitialized) return;
    try {
      await this.dataSource.initialize();
    } catch (error) {
      const driver = this.dataSource.driver as PostgresDriver;
      if (driver.master) await driver.disconnect(); // TypeORM forgets the pool of a try that failed half-way
      throw error;
    }
  }

  /**
   * Asks whether row security holds for the role that this is, and whether tenants are spread over servers.
   * @throws where both are so: those servers do not hear which tenant a transaction names, and would show no row. It is
   *   not connected then
   */
  async findManner(): Promise<RowSecurity> {
    const [[found], citus] = await Promise.all([this.query<RowSecurity>(ROW_SECURITY), this.query(CITUS)]);
    const spread = citus.length > 0;
    if (found!.active && spread) {
      await this.dataSource.destroy();
      throw new Error(
        `${found!.role} does not own the tables, as it must on Citus, or they are not there yet`,
      );
    }
    this.manner = { ...this.manner, secured: found!.active, spread };
    return found!;
  }

  /** One statement outside any transaction: one round trip. */
  async query<Row>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return this.queryOn<Row>(this.pool, statement, values);
  }

  private async queryOn<Row>(pool: Pool, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const client = await pool.connect();
    const flight = new Flight(this.manner);
    const answer = flight.add(statement, values, { rows: true });
    flight.depart(client);
    try {
      return (await answer).rows as Row[];
    } finally {
      client.release(flight.lost);
    }
  }

  /** TypeORM's view of one tenant's rows, for where repositories read better. */
  async read<T>(tenantId: string, work: (manager: EntityManager) => Promise<T>): Promise<T> {
    if (!this.manner.secured) return work(this.dataSource.manager);
    return this.transaction((tx) => work(tx.managerFor(tenantId)));
  }

  /**
   * Runs `work` in one transaction and commits it. Where `work` waits for none of its statements, all of it is one
   * round trip. Make no call to another system inside `work`: it would hold a connection and its locks for as long as
   * that takes.
   * @throws whatever `work` throws, after a rollback; CommitUnknown; CommitRefused
   */
  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    try {
      return await this.run(work, new Tx(client, this.dataSource, this.manner));
    } finally {
      client.release();
    }
  }

  private async run<T>(work: (tx: Tx) => Promise<T>, tx: Tx): Promise<T> {
    try {
      const result = await work(tx);
      await tx.commit();
      return result;
    } catch (error) {
      if (error instanceof CommitUnknown || error instanceof CommitRefused) throw error;
      await tx.rollback();
      if (isEcho(error)) await tx.settle(); // report the statement that failed, not those behind it
      throw error;
    }
  }

  /**
   * One statement on a connection of its own, which a full pool cannot keep waiting: for what must not queue
   * behind the work that it guards (lease renewals, readiness).
   */
  queryReserved<Row>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    this.reserved ??= reservedPool(this.dataSource);
    return this.queryOn<Row>(this.reserved, statement, values);
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
