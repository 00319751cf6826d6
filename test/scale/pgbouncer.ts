import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../support/free-port.js';

/** Debian's place for it. */
const PROGRAM = '/usr/sbin/pgbouncer';

export const hasPgBouncer = existsSync(PROGRAM);

export interface PgBouncer {
  /** The database behind it. */
  url(of: string): string;
  stop(): Promise<void>;
}

/** In transaction mode: a session serves one client's transaction, and then another's. */
export async function startPgBouncer(server: string, sessions: number): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'checkout-pgbouncer-'));
  const port = await freePort();
  const { hostname, port: serverPort, username, password } = new URL(server);
  const file = join(folder, 'pgbouncer.ini');
  const settings = [
    '[databases]',
    `* = host=${hostname} port=${serverPort} user=${username} password=${password || 'none'}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1`,
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${sessions}`,
    'max_client_conn = 200',
    ...(process.getuid?.() === 0 ? ['user = nobody'] : []), // it refuses to be root
  ];
  await writeFile(file, `${settings.join('\n')}\n`);
  const child = spawn(PROGRAM, ['--quiet', file], { stdio: 'ignore' });
  const gone = once(child, 'exit');
  await untilListening(port);
  return {
    url: (of) => Object.assign(new URL(of), { hostname: '127.0.0.1', port: String(port) }).href,
    stop: async () => {
      child.kill('SIGINT');
      await gone;
      await rm(folder, { recursive: true });
    },
  };
}

async function untilListening(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const socket = connect(port, '127.0.0.1');
    const open = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (open) return;
    await sleep(50);
  }
  throw new Error('PgBouncer does not listen');
}
