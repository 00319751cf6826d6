import { Module } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { BodyBudget } from './body-budget.js';
import { Draining } from './draining.js';
import { HealthController } from './health.controller.js';
import { HttpMetrics } from './http-metrics.js';
import { JsonBodyInterceptor } from './json-body.interceptor.js';
import { MetricsController } from './metrics.controller.js';
import { ProblemFilter } from './problem.filter.js';
import { Readiness } from './readiness.js';
import { RouteTable } from './route-table.js';
import { RequestValidationPipe } from './validation.pipe.js';

/** How every route reads its body, checks it and answers errors; and the probes and metrics, which every role has. */
@Module({
  controllers: [HealthController, MetricsController],
  providers: [
    RouteTable,
    Draining,
    Readiness,
    BodyBudget,
    HttpMetrics,
    { provide: APP_INTERCEPTOR, useClass: JsonBodyInterceptor },
    { provide: APP_PIPE, useClass: RequestValidationPipe },
    { provide: APP_FILTER, useClass: ProblemFilter },
  ],
})
export class HttpModule {}
