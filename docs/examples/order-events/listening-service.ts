import { Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Config } from '../../../src/config/config.js';
import { ConfigModule } from '../../../src/config/config.module.js';
import { DatabaseModule } from '../../../src/database/database.module.js';
import { InboxConsumerModule } from '../../../src/inbox/inbox.module.js';
import { OrderEventsModule } from './order-events.module.js';

@Module({})
class ListeningService {}

/** A service of its own, with a database of its own, that takes of this repository the inbox and what it stands on. */
export function startListeningService(config: Config): Promise<INestApplicationContext> {
  const { database, timings } = config;
  const imports = [
    ConfigModule.for(config),
    DatabaseModule.for({ ...database, lease: timings.lease }, []),
    OrderEventsModule,
    InboxConsumerModule,
  ];
  return NestFactory.createApplicationContext(
    { module: ListeningService, imports },
    { logger: false, abortOnError: false },
  );
}
