import pg, { type ClientBase, type QueryResult, type Submittable } from 'pg';
import { isDisconnected } from './errors.js';
import { ALL_TENANTS, SET_TENANT } from './row-security.js';
import type { Statement, Values } from './statement.js';

/** What pg's client calls on a query as its answers come in. Its types tell of `submit` alone. */
interface Query {
  name: string | undefined;
  text: string;
  values: Values;
  queryMode: 'extended' | undefined;
  acrossTenants: true | undefined;
  submit(wire: Wire): Error | null;
  handleRowDescription(message: object): void;
  handleDataRow(message: object): void;
  handleCommandComplete(message: object, wire: Wire): void;
  handleReadyForQuery(wire: Wire): void;
  handleError(error: Error, wire?: Wire): void;
}

/** The parts of pg's connection that its types do not tell of. */
interface Wire {
  readonly stream: { write(bytes: Buffer): void };
  /** The text of each statement that is on its way to be prepared, by its name. */
  readonly submittedNamedStatements: Record<string, string>;
}

const PgQuery = pg.Query as unknown as new (
  text: string,
  values?: readonly unknown[],
  settle?: (error: Error | null, result: QueryResult) => void,
) => Query;

/** pg's message that ends what is answered together. */
const SYNC = Buffer.from([0x53, 0, 0, 0, 4]);

/** A statement was not carried out, because one before it in the same flight had failed. */
export class NotCarriedOut extends Error {
  constructor() {
    super('Not carried out: an earlier statement of the same flight had failed');
    this.name = 'NotCarriedOut';
  }
}

/** How statements are carried out. */
export interface Manner {
  /** Statements with a name are prepared under it, once per connection. */
  readonly named: boolean;
  /** Rows are seen by naming their tenant alone. */
  readonly secured: boolean;
  /** Statements across tenants are said as `spread` has it. */
  readonly spread: boolean;
}

/** Stands in for a connection, and keeps the messages that are written to it. */
interface Collector {
  readonly messages: Buffer[];
  readonly describing: Wire;
  /** Does not ask what the rows look like. */
  readonly silent: Wire;
}

/** One for each connection: to make them anew was a twenty-fifth of the service's time. */
const COLLECTORS = new WeakMap<Wire, Collector>();

function collectorOf(wire: Wire): Collector {
  const collector = COLLECTORS.get(wire) ?? newCollector(wire);
  COLLECTORS.set(wire, collector);
  return collector;
}

function newCollector(wire: Wire): Collector {
  const messages: Buffer[] = [];
  const nothing = { value: () => undefined };
  const collect = { value: (message: Buffer) => messages.push(message) };
  const describing = Object.create(wire, { _send: collect, sync: nothing }) as Wire;
  return { messages, describing, silent: Object.create(describing, { describe: nothing }) as Wire };
}

/**
 * Statements that travel together: one write, one Sync, one answer. In pg's own pipeline each statement has a Sync of its
 * own, and so a write on both sides: 14 of each in a checkout, which took a third of the processors' time.
 * And nothing behind a statement that failed is carried out, a COMMIT least of all (PostgreSQL manual, 54.2.3).
 */
export class Flight extends PgQuery {
  private queries: Query[] = [];
  /** Those whose rows somebody wants; the others are not asked to describe them. */
  private readonly rowsWanted = new Set<Query>();
  private answered = 0;
  private unsendable: Error | undefined;
  /** The connection is of no use any more. */
  lost = false;
  // pg names the statement that is being prepared by these two.
  declare name: string | undefined;
  declare text: string;
  /** What pg calls, in the end, or when the answer takes too long. */
  declare callback: () => void;
  /** Until all of it is answered, one way or another. */
  readonly answer: Promise<void>;

  constructor(private readonly manner: Manner) {
    super('');
    this.answer = new Promise((resolve) => (this.callback = resolve));
  }

  /** @returns its result, once there is an answer; it fails where an earlier one failed */
  add(statement: Statement, values: Values, { rows }: { rows: boolean }): Promise<QueryResult> {
    return new Promise((resolve, reject) => {
      const query = this.queryOf(statement, values, (error, result) => {
        if (!error) return resolve(result);
        this.unsendable ??= error;
        reject(error);
      });
      this.queries.push(query);
      if (rows) this.rowsWanted.add(query);
    });
  }

  private queryOf(
    { name, text, spread, acrossTenants }: Statement,
    values: Values,
    settle: (error: Error | null, result: QueryResult) => void,
  ): Query {
    const query = new PgQuery(this.manner.spread && spread ? spread : text, [], settle);
    return Object.assign(query, {
      name: this.manner.named ? name : '',
      values,
      queryMode: 'extended',
      acrossTenants,
    });
  }

  depart(client: ClientBase): void {
    client.query<Submittable>(this as unknown as Submittable);
  }

  /** It never leaves. */
  cancel(): void {
    this.handleError(new NotCarriedOut());
  }

  override submit(wire: Wire): Error | null {
    const { messages, describing, silent } = collectorOf(wire);
    for (const query of this.queries) this.fill(query);
    if (this.manner.secured) this.nameTenants();
    for (const query of this.queries) this.write(query, this.rowsWanted.has(query) ? describing : silent);
    const bytes = Buffer.concat([...messages.splice(0), SYNC]);
    if (this.unsendable) return this.unsendable; // nothing has been written yet
    this.nowAnswering();
    wire.stream.write(bytes);
    return null;
  }

  /** Values that cannot be made, or sent, are noted: pg knows what to do with a query that could not be submitted. */
  private fill(query: Query): void {
    try {
      if (typeof query.values === 'function') query.values = query.values();
    } catch (error) {
      query.values = [];
      this.unsendable = error as Error;
    }
  }

  private write(query: Query, wire: Wire): void {
    try {
      const error = query.submit(wire);
      if (error) this.unsendable = error;
    } catch (error) {
      this.unsendable = error as Error;
    }
  }

  /** Before each statement about another tenant than those before it. Not longer than the transaction: a pooler gives the session to others. */
  private nameTenants(): void {
    let named: string | undefined;
    this.queries = this.queries.flatMap((query) => {
      const tenant = tenantOf(query);
      if (tenant === undefined || tenant === named) return query;
      named = tenant;
      if (query.text === SET_TENANT.text) return query; // it says so itself
      return [this.queryOf(SET_TENANT, [tenant], () => undefined), query];
    });
  }

  override handleRowDescription(message: object): void {
    this.current?.handleRowDescription(message);
  }

  override handleDataRow(message: object): void {
    if (this.current && this.rowsWanted.has(this.current)) this.current.handleDataRow(message);
  }

  override handleCommandComplete(message: object, wire: Wire): void {
    const query = this.current;
    this.answered += 1;
    this.nowAnswering();
    query?.handleCommandComplete(message, wire);
    query?.handleReadyForQuery(wire);
  }

  override handleReadyForQuery(): void {
    this.callback();
  }

  /** Called by pg for an error of the server, of the connection, and for an answer that does not come. */
  override handleError(error: Error, wire?: Wire): void {
    const [failed, ...behind] = this.queries.slice(this.answered);
    this.answered = this.queries.length;
    this.lost = isDisconnected(error);
    const echo = this.lost ? error : new NotCarriedOut();
    failed?.handleError(error, wire);
    for (const query of behind) query.handleError(echo, wire);
    for (const { name } of this.queries) if (name) delete wire?.submittedNamedStatements[name]; // neither is it prepared
    this.callback();
  }

  private get current(): Query | undefined {
    return this.queries[this.answered];
  }

  private nowAnswering(): void {
    this.name = this.current?.name;
    this.text = this.current?.text ?? '';
  }
}

function tenantOf({ acrossTenants, values }: Query): string | undefined {
  const [first] = values as readonly unknown[];
  if (acrossTenants) return ALL_TENANTS;
  return typeof first === 'string' ? first : undefined;
}
