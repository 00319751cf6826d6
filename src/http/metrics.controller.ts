import { Controller, Get, Headers, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { Config } from '../config/config.js';
import { Metrics } from '../metrics/metrics.js';
import { bearerToken } from './bearer.js';
import { unauthenticated } from './problems.js';
import { Public } from './public.decorator.js';

/** For Prometheus. It belongs behind the network's wall; METRICS_TOKEN closes it where there is none. */
@Public()
@ApiExcludeController()
@Controller('metrics')
export class MetricsController {
  constructor(
    private readonly metrics: Metrics,
    private readonly config: Config,
  ) {}

  @Get()
  async text(
    @Headers('authorization') authorization: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    if (!this.isOpenTo(bearerToken(authorization))) throw unauthenticated();
    void reply.header('Content-Type', this.metrics.contentType);
    return this.metrics.text();
  }

  private isOpenTo(token = ''): boolean {
    const { metricsToken } = this.config;
    return metricsToken === '' || timingSafeEqual(this.hash(token), this.hash(metricsToken));
  }

  private hash(token: string): Buffer {
    return createHmac('sha256', this.config.hashSecret).update(token).digest();
  }
}
