import type { DynamicModule } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { once } from 'node:events';
import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { AppModule } from '../../src/app.module.js';
import { loadConfig } from '../../src/config/config.js';
import { SANDBOX_SECRET } from '../../src/config/published.js';
import type { Environment } from '../../src/config/environment.js';
import { createApp } from '../../src/create-app.js';
import { dataSourceOptions } from '../../src/database/data-source.js';
import { Database } from '../../src/database/transaction.js';
import { addApiKey, addTenant } from '../../src/tenancy/api-keys.js';
import { asService } from './app-role.js';

/** The two tenants that every started API knows, and their keys. */
export const ACME = { tenant: 'acme', key: 'ck_test_acme' };
export const GLOBEX = { tenant: 'globex', key: 'ck_test_globex' };

export interface ApiOptions extends Partial<Record<keyof Environment, string>> {
  readonly databaseUrl: string;
  readonly providerUrl?: string;
  readonly smtpUrl?: string;
}

export interface StartedApi {
  readonly url: string;
  readonly app: NestFastifyApplication;
  stop(): Promise<void>;
}

/** The real application in this process, on a free port. `modules` adds routes that only the test has. */
export async function startApi(
  options: ApiOptions,
  modules: DynamicModule['imports'] = [],
): Promise<StartedApi> {
  await seedTenants(options.databaseUrl);
  const config = loadConfig(environment({ LOG_LEVEL: 'silent', ...asAppRole(options) }));
  const app = await createApp(config, {
    module: class Root {},
    imports: [AppModule.for(config), ...modules],
  });
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  await untilReady(url);
  return { url, app, stop: () => app.close() };
}

export interface SpawnedApi {
  readonly url: string;
  readonly pid: number;
  readonly process: ChildProcess;
  /** Resolves when the process is gone, with its exit code (null after a signal). */
  kill(signal: NodeJS.Signals): Promise<number | null>;
  stop(): Promise<number | null>;
  /** Everything it wrote so far, standard error included. */
  logs(): string;
}

/**
 * The built application as a process of its own, for what only a process can suffer. It dies with the test.
 * @param program what Node runs in its place
 */
export async function spawnApi(options: ApiOptions, program?: readonly string[]): Promise<SpawnedApi> {
  await seedTenants(options.databaseUrl);
  const process = spawnMain(environment({ LOG_LEVEL: 'info', PORT: '0', ...asAppRole(options) }), program);
  const url = await listening(process);
  if (options.ROLE !== 'worker') await untilReady(url);
  const kill = (signal: NodeJS.Signals) => {
    process.child.kill(signal);
    return process.exited;
  };
  return {
    url,
    pid: process.child.pid!,
    process: process.child,
    kill,
    stop: () => kill('SIGTERM'),
    logs: process.logs,
  };
}

export interface SpawnedMain {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  logs(): string;
}

/** `program` with exactly this environment, whether or not it comes up. */
export function spawnMain(
  env: NodeJS.ProcessEnv,
  program: readonly string[] = ['dist/src/main.js'],
): SpawnedMain {
  const child = spawn(process.execPath, program, {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let logs = '';
  child.stdout!.on('data', (chunk: Buffer) => (logs += chunk.toString()));
  child.stderr!.on('data', (chunk: Buffer) => (logs += chunk.toString()));
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return { child, exited, logs: () => logs };
}

function asAppRole(options: ApiOptions): ApiOptions {
  return { ...options, databaseUrl: asService(options.databaseUrl) };
}

/** What the service needs to be told; `options` win. */
export function environment({
  databaseUrl,
  providerUrl,
  smtpUrl,
  ...settings
}: ApiOptions): NodeJS.ProcessEnv {
  return {
    NODE_ENV: 'test',
    HOST: '127.0.0.1',
    DATABASE_URL: databaseUrl,
    STRIPE_API_URL: providerUrl ?? 'http://127.0.0.1:9', // the discard port: nothing listens there
    STRIPE_API_KEY: 'sk_test_key',
    PROVIDER_KEY_PREFIX: 'test',
    SMTP_URL: smtpUrl ?? 'smtp://127.0.0.1:9',
    HASH_SECRET: SANDBOX_SECRET,
    PROVIDER_BREAKER_FAILURES: '100000', // most tests break the provider on purpose, call by call
    ...settings,
  };
}

/** Adds the tenants and their keys; adding them again changes nothing. */
export async function seedTenants(databaseUrl: string): Promise<void> {
  const options = dataSourceOptions({ url: databaseUrl, poolSize: 1 }, { entities: [], migrations: [] });
  const database = new Database(await new DataSource(options).initialize(), false); // it may be reached through a pooler
  for (const { tenant, key } of [ACME, GLOBEX]) {
    await addTenant(database, { id: tenant, name: tenant });
    await addApiKey(database, tenant, key, SANDBOX_SECRET);
  }
  await database.close();
}

/** Fastify logs where it listens; with port 0 that is the only way to learn it. */
async function listening({ child, logs, exited }: SpawnedMain): Promise<string> {
  const died = exited.then((code) => {
    throw new Error(`The API exited with ${code} before it listened:\n${logs()}`);
  });
  for (;;) {
    const url = /Server listening at (http:\/\/[\d.:]+)/.exec(logs())?.[1];
    if (url) return url;
    await Promise.race([once(child.stdout!, 'data'), died]);
  }
}

export async function untilReady(url: string): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const { ok } = await fetch(`${url}/health/ready`).catch(() => ({ ok: false }));
    if (ok) return;
    await sleep(10);
  }
  throw new Error(`${url} did not become ready`);
}
