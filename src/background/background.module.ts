import { Module } from '@nestjs/common';
import { LoopMetrics } from './loop-metrics.js';

/** What every job needs beside its work. */
@Module({ providers: [LoopMetrics], exports: [LoopMetrics] })
export class BackgroundModule {}
