import { Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { existsSync } from 'node:fs';
import { ConfigError, loadConfig, type Config } from './config/config.js';
import { createApp } from './create-app.js';
import { shutDownGracefully } from './http/graceful-shutdown.js';

/** Beyond the deadline of a request: its answer still has to be written, and the pool to close. */
const BEYOND_DEADLINE_SECONDS = 5;

/** Boots by ROLE: `api` answers clients, `worker` works in the background, `all` does both in one process. */
async function main(): Promise<void> {
  dieOnTheUnexpected();
  const config = configure();
  const app = await createApp(config);
  shutDownGracefully(app, config.timings.requestDeadline + BEYOND_DEADLINE_SECONDS);
  await listen(app, config);
}

async function listen(app: NestFastifyApplication, { role, host, port, workerPort }: Config): Promise<void> {
  const [variable, number] = role === 'worker' ? ['WORKER_PORT', workerPort] : ['PORT', port];
  await app.listen(number, host).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    refuseToStart(`Port ${number} is taken: stop what listens there, or set ${variable} to another.`);
  });
}

function configure(): Config {
  if (existsSync('.env')) process.loadEnvFile();
  try {
    return loadConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    refuseToStart(error.message);
  }
}

/** For what a person has to mend: a sentence, no stack. */
function refuseToStart(why: string): never {
  console.error(why);
  process.exit(1);
}

/** Whatever nobody caught leaves a process that nobody can vouch for. Retries go to the next one, safely. */
function dieOnTheUnexpected(): void {
  const die = (error: unknown) => {
    new Logger('Main').fatal(error);
    process.exit(1);
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);
}

await main();
