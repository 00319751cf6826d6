import type { DataSourceOptions } from 'typeorm';
import { addressesOf } from '../config/addresses.js';
import { PatientClient } from './patient-client.js';
import { Primary } from './primary.js';
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
  const [first, ...others] = addressesOf(database.url);
  return {
    type: 'postgres',
    url: first!,
    entities: schema.entities,
    migrations: schema.migrations,
    migrationsTransactionMode: 'each',
    installExtensions: false,
    poolSize: database.poolSize,
    connectTimeoutMS: connectTimeout(database.lease),
    extra: {
      Client: PatientClient,
      primary: others.length > 0 ? new Primary([first!, ...others]) : undefined,
      pipeline: true, // statements that do not wait for one another share a round trip
      keepAlive: true,
      fallback_application_name: database.lease === undefined ? TOOLS : SERVICE,
      query_timeout: database.lease === undefined ? TOOLS_TIMEOUT_MS : answerTimeout(database.lease),
    },
  };
}

/** What PostgreSQL calls a session in its log, unless PGAPPNAME says more. A startup parameter that PgBouncer does take. */
const SERVICE = 'checkout';
const TOOLS = 'checkout-tools';

/** Above every `statement_timeout`. */
const TOOLS_TIMEOUT_MS = 30_000;
