import { statement } from './statement.js';

/** Finds a row where the database may have its tables spread over the servers of a Citus cluster. */
export const CITUS = statement('citus', "SELECT FROM pg_extension WHERE extname = 'citus'");
