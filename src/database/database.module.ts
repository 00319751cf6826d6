import { Global, Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { Connection } from './connection.js';
import { dataSourceOptions } from './data-source.js';
import { Database } from './transaction.js';

@Global()
@Module({
  providers: [
    {
      provide: Database,
      inject: [Config],
      useFactory: ({ database }: Config) =>
        new Database(new DataSource(dataSourceOptions(database, { entities: [], migrations: [] }))),
    },
    Connection,
  ],
  exports: [Database],
})
export class DatabaseModule {}
