import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below what Linux and macOS give to outgoing connections: one of those could take a port between now and its use. */
const FIRST = 10_000;
const LAST = 32_000;

/** Processes that look at the same time walk stretches of their own, so that no two find the same port. */
let next = randomInt(FIRST, LAST);

/** Plain JavaScript: what runs without a build imports it too. */
export async function freePort() {
  for (;;) {
    const port = next;
    next = port < LAST ? port + 1 : FIRST;
    if (await isFree(port)) return port;
  }
}

async function isFree(port) {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  await new Promise((closed) => server.close(closed));
  return true;
}
