import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';
import { configureApp } from './http/configure-app.js';
import { createLogger, NestLogger } from './http/logger.js';
import { serverOptions } from './http/server-options.js';
import { limitAddresses } from './limits/limit-addresses.js';
import { Limits } from './limits/limits.js';

/**
 * The application as it is served, for the processes and the tests alike. It does not listen yet.
 *
 * @param root the modules; a test may wrap the service's in one that adds routes of its own
 */
export async function createApp(
  config: Config,
  root: DynamicModule = AppModule.for(config),
): Promise<NestFastifyApplication> {
  const logger = createLogger(config);
  const app = await NestFactory.create<NestFastifyApplication>(
    root,
    new FastifyAdapter(serverOptions(logger, config)),
    { bodyParser: false, logger: new NestLogger(logger), abortOnError: false },
  );
  configureApp(app);
  limitAddresses(app.getHttpAdapter().getInstance(), app.get(Limits));
  return app;
}
