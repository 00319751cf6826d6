import { once } from 'node:events';
import { run } from './global-setup.js';

export default async function globalTeardown() {
  const keeper = globalThis.testPostgres;
  if (!keeper)
    return run(process.env.TEST_ADMIN_URL, `DROP DATABASE ${process.env.TEST_TEMPLATE} WITH (FORCE)`);
  const ended = once(keeper, 'exit');
  keeper.disconnect();
  await ended;
}
