import { once } from 'node:events';
import { rows } from './cluster.js';

export default async function globalTeardown() {
  const keeper = globalThis.testPostgres;
  if (!keeper) {
    for (const server of process.env.TEST_SERVERS.split(' '))
      await rows(server, `DROP DATABASE ${process.env.TEST_TEMPLATE} WITH (FORCE)`);
    return;
  }
  const ended = once(keeper, 'exit');
  keeper.disconnect();
  await ended;
}
