import { Body, Controller, Get, Module, Param, Post, Req } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsEmail, IsInt, IsString, Min, ValidateNested } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { statement } from '../../src/database/statement.js';
import { Database } from '../../src/database/transaction.js';
import { RawBody } from '../../src/http/raw-body.decorator.js';
import { CurrentTenant, type Tenant } from '../../src/tenancy/tenant.js';

class ProbeItem {
  @IsString() sku!: string;
  @IsInt() @Min(1) quantity!: number;
}

class ProbeInput {
  @IsEmail() email!: string;
  @ValidateNested({ each: true }) @Type(() => ProbeItem) items!: ProbeItem[];
}

/** Routes that do on purpose what routes of the service must not, behind the same doors. */
@Controller('probe')
class ProbeController {
  constructor(private readonly database: Database) {}

  @Get('tenant')
  tenant(@CurrentTenant() tenant: Tenant): Tenant {
    return tenant;
  }

  @Post('echo')
  echo(@Req() { body }: FastifyRequest): unknown {
    return { body };
  }

  @RawBody()
  @Post('bytes')
  bytes(@Req() { body }: FastifyRequest): unknown {
    return { base64: (body as Buffer).toString('base64') };
  }

  @Post('validate')
  validate(@Body() input: ProbeInput): ProbeInput {
    return input;
  }

  @Get('items/:id')
  item(@Param('id') id: string): unknown {
    return { id };
  }

  @Get('sleep/:seconds')
  async sleep(@Param('seconds') seconds: string): Promise<unknown> {
    await this.database.query(statement('probe_sleep', 'SELECT pg_sleep($1)'), [seconds]);
    return { slept: seconds };
  }

  @Get('fail/sql')
  async failSql(): Promise<void> {
    await this.database.query(statement('probe_fail', "SELECT 'ada@example.com' FROM no_such_table"));
  }

  @Get('fail/code')
  failCode(): void {
    throw new Error('sk_live_secret of ada@example.com at /srv/app');
  }

  @Get('fail/nothing')
  failNothing(): void {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- someone, somewhere, throws undefined
    throw undefined;
  }
}

@Module({ controllers: [ProbeController] })
export class ProbeModule {}
