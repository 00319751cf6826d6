import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { notReady } from './problems.js';
import { Public } from './public.decorator.js';
import { Readiness } from './readiness.js';

@Public()
@ApiExcludeController()
@Controller('health')
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  /** The process runs; asked to decide on a restart, so it must not depend on the database. */
  @Get('live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** Send requests here, or do not. */
  @Get('ready')
  async ready(): Promise<{ status: 'ok' }> {
    if (!(await this.readiness.isReady())) throw notReady();
    return { status: 'ok' };
  }
}
