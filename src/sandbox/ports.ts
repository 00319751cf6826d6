import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from './refusal.js';
import { HOST } from './settings.js';

/** Processes whose supervisor was killed may still be answering their last requests: a little over a deadline. */
const PATIENCE_MS = 8_000;

type NamedPort = readonly [name: string, port: number];

/**
 * Asks for every port before anything is started, so that one restart mends them all.
 * `patient` waits for what a killed run left behind. @throws Refusal
 */
export async function requireFreePorts(
  ports: readonly NamedPort[],
  { patient }: { patient: boolean },
): Promise<void> {
  const until = Date.now() + (patient ? PATIENCE_MS : 0);
  let taken = await findTaken(ports);
  while (taken.length > 0 && Date.now() < until) {
    await sleep(100);
    taken = await findTaken(ports);
  }
  if (taken.length > 0) throw new Refusal(describe(taken));
}

async function findTaken(ports: readonly NamedPort[]): Promise<NamedPort[]> {
  const free = await Promise.all(ports.map(([, port]) => isFree(port)));
  return ports.filter((_, index) => !free[index]);
}

/** Free means that it can be listened on: a privileged port that we may not have is as good as taken. */
function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, HOST, () => server.close(() => resolve(true)));
  });
}

function describe(taken: readonly NamedPort[]): string {
  const [are, them] = taken.length === 1 ? ['is', 'it'] : ['are', 'them'];
  const ports = taken.map(([, port]) => port).join(', ');
  const names = taken.map(([name]) => name).join(', ');
  return `Port ${ports} ${are} taken: set ${names} to another port, or stop what listens on ${them}.`;
}
