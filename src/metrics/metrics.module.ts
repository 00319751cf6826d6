import { Global, Module } from '@nestjs/common';
import { Metrics } from './metrics.js';

/** Global, as every room counts what it does. */
@Global()
@Module({ providers: [Metrics], exports: [Metrics] })
export class MetricsModule {}
