import { Module, type DynamicModule } from '@nestjs/common';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { MetricsModule } from '../metrics/metrics.module.js';
import { Connection } from './connection.js';
import { dataSourceOptions } from './data-source.js';
import { PoolMetrics } from './pool-metrics.js';
import { Database } from './transaction.js';

@Module({})
export class DatabaseModule {
  /**
   * @param settings the lease, in seconds, bounds how long an answer is waited for
   * @param entities what repositories read; they belong to the features, so the composition root names them
   */
  static for(
    settings: {
      readonly url: string;
      readonly poolSize: number;
      readonly lease: number;
      readonly preparedStatements?: boolean;
    },
    entities: DataSourceOptions['entities'],
  ): DynamicModule {
    return {
      global: true,
      module: DatabaseModule,
      imports: [MetricsModule],
      providers: [
        {
          provide: Database,
          useFactory: () =>
            new Database(
              new DataSource(dataSourceOptions(settings, { entities, migrations: [] })),
              settings.preparedStatements,
            ),
        },
        Connection,
        PoolMetrics,
      ],
      exports: [Database],
    };
  }
}
