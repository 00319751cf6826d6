import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.js';
import { startDaemon } from './programs.js';

export interface Nginx {
  readonly url: string;
  /** What each request came to: the answer, and how each process that was tried had answered. */
  requests(): Promise<{ readonly status: number; readonly tried: readonly string[] }[]>;
  stop(): Promise<void>;
}

/** nginx with the configuration of deploy/nginx, before APIs on these ports. */
export async function startNginx(program: string, ports: readonly number[]): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), 'checkout-nginx-'));
  const port = await freePort();
  const log = join(folder, 'access.log');
  await writeFile(
    join(folder, 'checkout.conf'),
    await filledIn('deploy/nginx/checkout.conf.template', {
      CHECKOUT_LISTEN: `127.0.0.1:${port}`,
      CHECKOUT_SERVERS: ports
        .map((each) => `server 127.0.0.1:${each} max_fails=3 fail_timeout=2s;`)
        .join(' '),
      CHECKOUT_ACCESS_LOG: log,
    }),
  );
  await writeFile(join(folder, 'nginx.conf'), surroundings(folder));
  const daemon = await startDaemon([program, '-p', folder, '-c', join(folder, 'nginx.conf')], port);
  return {
    url: `http://127.0.0.1:${port}`,
    requests: async () => (await readFile(log, 'utf8')).trim().split('\n').map(readLine),
    stop: async () => {
      await daemon.stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** As nginx's image does it: only these variables, as nginx has its own. */
async function filledIn(template: string, values: Readonly<Record<string, string>>): Promise<string> {
  const text = await readFile(template, 'utf8');
  return Object.entries(values).reduce(
    (filled, [name, value]) => filled.replaceAll(`\${${name}}`, value),
    text,
  );
}

/** What an installation has around it, in a folder of its own. */
function surroundings(folder: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events {}
http {
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  include ${folder}/checkout.conf;
}`;
}

/** `… 201 [a, b] [502, 201] 0.1` */
function readLine(line: string) {
  const [, status, answers = ''] = / (\d{3}) \[[^\]]*\] \[([^\]]*)\]/.exec(line) ?? [];
  return { status: Number(status), tried: answers.split(/[,:] /).map((answer) => answer.trim()) };
}
