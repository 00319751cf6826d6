import pg from 'pg';
import type { DataSourceOptions } from 'typeorm';
import { answerTimeout, connectTimeout } from './timeouts.js';

/**
 * The one place that says how the service reaches its database; the application, the migrations and the tests
 * share it. Session timeouts are set by role (`migrate.ts`), never as startup parameters, which
 * PgBouncer refuses.
 * @param database `lease` in seconds, which bounds how long an answer is waited for; tools, whose statements may take
 *   longer, have none
 */
export function dataSourceOptions(
  database: { url: string; poolSize: number; lease?: number },
  schema: Pick<DataSourceOptions, 'entities' | 'migrations'>,
): DataSourceOptions {
  return {
    type: 'postgres',
    url: database.url,
    entities: schema.entities,
    migrations: schema.migrations,
    migrationsTransactionMode: 'each',
    installExtensions: false,
    poolSize: database.poolSize,
    connectTimeoutMS: connectTimeout(database.lease),
    extra: {
      Client: PatientClient,
      pipeline: true, // statements that do not wait for one another share a round trip
      keepAlive: true,
      query_timeout: database.lease === undefined ? TOOLS_TIMEOUT_MS : answerTimeout(database.lease),
    },
  };
}

/** Above every `statement_timeout`. */
const TOOLS_TIMEOUT_MS = 30_000;

/**
 * While the pool hands a client over nobody listens for its errors, and the server may end a session at any moment:
 * an error without a listener would end the process. Whoever holds the client learns of it from their query.
 * A session that takes no writes (it reached a standby, or a primary while that was read-only) may stay so for ever:
 * it is not kept.
 */
class PatientClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.on('error', () => undefined);
    this.connection.on('errorMessage', ({ code }: pg.DatabaseError) => {
      if (code === READ_ONLY) void this.end();
    });
  }
}

/** SQLSTATE read_only_sql_transaction. */
const READ_ONLY = '25006';
