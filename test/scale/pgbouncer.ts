import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asService } from '../support/app-role.js';
import { freePort } from '../support/free-port.js';
import { startDaemon } from './programs.js';

export interface PgBouncer {
  /** The database behind it. */
  url(of: string): string;
  stop(): Promise<void>;
}

/** In transaction mode: a session serves one client's transaction, and then another's. */
export async function startPgBouncer(program: string, server: string, sessions: number): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'checkout-pgbouncer-'));
  const port = await freePort();
  const { hostname, port: serverPort } = new URL(server);
  const [file, users] = [join(folder, 'pgbouncer.ini'), join(folder, 'users.txt')];
  const settings = [
    '[databases]',
    `* = host=${hostname} port=${serverPort}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1`,
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${users}`,
    'pool_mode = transaction',
    `default_pool_size = ${sessions}`,
    'max_client_conn = 200',
    ...(process.getuid?.() === 0 ? ['user = nobody'] : []), // it refuses to be root
  ];
  await writeFile(users, [server, asService(server)].map(credentials).join(''));
  await writeFile(file, `${settings.join('\n')}\n`);
  const daemon = await startDaemon([program, '--quiet', file], port);
  return {
    url: (of) => Object.assign(new URL(of), { hostname: '127.0.0.1', port: String(port) }).href,
    stop: async () => {
      await daemon.stop('SIGINT');
      await rm(folder, { recursive: true });
    },
  };
}

function credentials(url: string): string {
  const { username, password } = new URL(url);
  return `"${username}" "${password}"\n`;
}
