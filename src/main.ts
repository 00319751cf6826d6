import { Logger } from '@nestjs/common';
import { existsSync } from 'node:fs';
import { ConfigError, loadConfig, type Config } from './config/config.js';
import { createApp } from './create-app.js';
import { shutDownGracefully } from './http/graceful-shutdown.js';

/** Beyond the deadline of a request: its answer still has to be written, and the pool to close. */
const BEYOND_DEADLINE_SECONDS = 5;

/** Boots by ROLE: `api` answers clients, `worker` works in the background, `all` does both in one process. */
async function main(): Promise<void> {
  const config = configure();
  const app = await createApp(config);
  shutDownGracefully(app, config.timings.requestDeadline + BEYOND_DEADLINE_SECONDS);
  dieOnTheUnexpected();
  await app.listen(config.role === 'worker' ? config.workerPort : config.port, config.host);
}

function configure(): Config {
  if (existsSync('.env')) process.loadEnvFile();
  try {
    return loadConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    process.exit(1);
  }
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
