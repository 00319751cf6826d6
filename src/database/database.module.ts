import { Module, type DynamicModule } from '@nestjs/common';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { Config } from '../config/config.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { Connection } from './connection.js';
import { dataSourceOptions } from './data-source.js';
import { PoolMetrics } from './pool-metrics.js';
import { Database } from './transaction.js';

@Module({})
export class DatabaseModule {
  /** @param entities what repositories read; they belong to the features, so the composition root names them */
  static for(entities: DataSourceOptions['entities']): DynamicModule {
    return {
      global: true,
      module: DatabaseModule,
      imports: [MetricsModule],
      providers: [
        {
          provide: Database,
          inject: [Config],
          useFactory: ({ database, timings: { lease } }: Config) =>
            new Database(
              new DataSource(dataSourceOptions({ ...database, lease }, { entities, migrations: [] })),
            ),
        },
        Connection,
        PoolMetrics,
      ],
      exports: [Database],
    };
  }
}
