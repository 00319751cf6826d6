import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../../src/database/data-source.js';
import { applySessionSettings } from '../../../src/database/session-settings.js';
import { AppModule, type Settings } from './app.module.js';
import { Bookings1764500000000 } from './bookings.migration.js';
import { Engine1764600000000 } from './engine.migration.js';

/** `main.ts '{ "databaseUrl": …, … }'`: an application with its own table, callers and errors, and of this repository the engine. */
const settings = JSON.parse(process.argv[2]!) as Settings;
await migrate(settings);
const app = await NestFactory.create<NestFastifyApplication>(AppModule.for(settings), new FastifyAdapter(), {
  logger: ['error', 'warn'],
});
app.enableShutdownHooks();
await app.listen(settings.port, '127.0.0.1');
process.stdout.write(`Listening at ${await app.getUrl()}\n`);

/** The engine's timeouts belong to the role that the application connects as. */
async function migrate({ databaseUrl: url, lease }: Settings): Promise<void> {
  const migrations = [Bookings1764500000000, Engine1764600000000];
  const database = new DataSource(dataSourceOptions({ url, poolSize: 1 }, { entities: [], migrations }));
  await database.initialize();
  await database.runMigrations();
  await applySessionSettings(database, { lease });
  await database.destroy();
}
