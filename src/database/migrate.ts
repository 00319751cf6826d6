import type { Timings } from '../config/timings.js';
import { admitAppRole, requireAppRole } from './app-role.js';
import { changeSchema } from './schema-change.js';
import { applySessionSettings } from './session-settings.js';

/**
 * Brings the database at `url` to the newest schema and sets the session timeouts of its role. Any number of processes
 * may do so at once: one does the work, and the others wait for it.
 * @param appUrl of the role that the service runs as, where that is another one than the owner of the tables
 * @param patience seconds that another run is waited for
 * @returns the names of what it ran itself
 * @throws Error where the service runs as a role that is not named
 */
export function migrate(
  url: string,
  { lease, appUrl }: Pick<Timings, 'lease'> & { readonly appUrl?: string | undefined },
  patience?: number,
): Promise<string[]> {
  return changeSchema(
    url,
    async (runner, executor) => {
      if (!appUrl) await requireAppRole(runner);
      const run = await executor.executePendingMigrations();
      await applySessionSettings(runner, { lease });
      if (appUrl) await admitAppRole(runner, appUrl, { lease });
      return run.map(({ name }) => name);
    },
    patience,
  );
}
