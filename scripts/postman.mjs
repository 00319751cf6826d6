/**
 * Runs the Postman collection against a sandbox of its own, on free ports and in a new data folder, so that every lesson
 * stays true. The sandbox is stopped and its data removed in every case, Ctrl-C included. Exit code 0: every test passed.
 *
 *   --folder <name>       only this folder of the collection; may be repeated
 *   --collection <file>   another collection
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import newman from 'newman';
import { freePort } from '../test/support/free-port.js';

const { values: options } = parseArgs({
  options: {
    folder: { type: 'string', multiple: true },
    collection: { type: 'string', default: 'postman/checkout.postman_collection.json' },
  },
});

/** What moves the sandbox, and what the collection's environment calls it, where a request goes there. */
const PORTS = {
  PORT: 'apiPort',
  WORKER_PORT: 'workerPort',
  PROVIDER_PORT: 'providerPort',
  MAILBOX_PORT: 'mailboxPort',
  SMTP_PORT: undefined,
  LAB_PORT: undefined,
  POSTGRES_PORT: undefined,
};

let sandbox;
let leaving = false;
for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }))
  process.on(signal, () => leave(code));

const folder = await mkdtemp(join(tmpdir(), 'postman-'));
try {
  const ports = await freePorts();
  sandbox = startSandbox(ports);
  await ready(sandbox);
  await leave(report(await run(ports)));
} catch (error) {
  if (!leaving) console.error(`postman: ${error.message}`); // what breaks on the way out was meant to
  await leave(1);
}

/** The first reason to leave counts: Ctrl-C comes twice, from the terminal and from npm. */
async function leave(code) {
  if (leaving) return;
  leaving = true;
  if (sandbox && sandbox.exitCode === null && sandbox.signalCode === null) {
    sandbox.kill('SIGINT');
    await once(sandbox, 'exit');
  }
  await rm(folder, { recursive: true, force: true });
  process.exit(code);
}

async function freePorts() {
  const ports = {};
  for (const name of Object.keys(PORTS)) ports[name] = String(await freePort());
  return ports;
}

function startSandbox(ports) {
  return spawn(process.execPath, [resolve('dist/src/sandbox/start.js')], {
    cwd: folder, // no .env here: what developers set for themselves is not what is tested
    env: {
      ...process.env,
      ...ports,
      DATA_DIR: join(folder, 'data'),
      DATABASE_URL: '',
      // However slow the machine: the key of a lesson is not taken up by the worker before the client comes back.
      COMPLETER_GRACE_SECONDS: '120',
      // So that it notices, and ends, should we be killed.
      npm_lifecycle_event: 'postman',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function ready(child) {
  let said = '';
  child.stdout.on('data', (chunk) => (said += chunk));
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`the sandbox ended:\n${said}`)));
  ended.catch(() => undefined); // later it is meant to
  while (!said.includes('Ready in')) await Promise.race([once(child.stdout, 'data'), ended]);
}

function run(ports) {
  const moved = Object.entries(PORTS).filter(([, variable]) => variable);
  return new Promise((settle, reject) => {
    newman.run(
      {
        collection: options.collection,
        environment: 'postman/sandbox.postman_environment.json',
        envVar: moved.map(([name, key]) => ({ key, value: ports[name] })),
        reporters: 'cli',
        reporter: { cli: { noBanner: true, noSummary: true, noFailures: true } },
        ...(options.folder && { folder: options.folder }),
      },
      (error, summary) => (error ? reject(error) : settle(summary.run)),
    );
  });
}

/**
 * Says what failed, and how much was tested. A connection that a script opens (`pm.sendRequest`: no item of the collection,
 * so it has no parent) and that breaks is no failure by itself, unlike for newman: lessons break some on purpose, and
 * their scripts test that they did.
 * @returns the exit code; a run that tested nothing has shown nothing
 */
function report({ failures, stats: { items, assertions } }) {
  const failed = failures.filter(({ at, parent }) => at !== 'request' || parent);
  for (const { source, parent, error } of failed)
    console.error(
      `postman: ${[parent?.name, source.name, error.test].filter(Boolean).join(' / ')}: ${error.message}`,
    );
  console.log(`postman: ${items.total} requests, ${assertions.total} tests, ${failed.length} failures`);
  return failed.length > 0 || assertions.total === 0 ? 1 : 0;
}
