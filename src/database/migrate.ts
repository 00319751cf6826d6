import type { Timings } from '../config/timings.js';
import { changeSchema } from './schema-change.js';
import { applySessionSettings } from './session-settings.js';

/**
 * Brings the database at `url` to the newest schema and sets the session timeouts of its role. Any number of processes
 * may do so at once: one does the work, and the others wait for it.
 * @param patience seconds that another run is waited for
 * @returns the names of what it ran itself
 */
export function migrate(url: string, timings: Pick<Timings, 'lease'>, patience?: number): Promise<string[]> {
  return changeSchema(
    url,
    async (runner, executor) => {
      const run = await executor.executePendingMigrations();
      await applySessionSettings(runner, timings);
      return run.map(({ name }) => name);
    },
    patience,
  );
}
