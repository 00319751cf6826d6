import { Injectable } from '@nestjs/common';
import { Metrics } from '../metrics/metrics.js';
import { Database } from './transaction.js';

/** Whether requests queue for a connection. */
@Injectable()
export class PoolMetrics {
  constructor(metrics: Metrics, database: Database) {
    metrics.gauges(
      {
        checkout_database_connections: 'Connections of the pool',
        checkout_database_connections_idle: 'Connections of the pool that nobody uses',
        checkout_database_connections_awaited: 'Requests that wait for a connection of the pool',
      },
      () => {
        const use = database.poolUse();
        return {
          checkout_database_connections: use?.total,
          checkout_database_connections_idle: use?.idle,
          checkout_database_connections_awaited: use?.waiting,
        };
      },
    );
  }
}
