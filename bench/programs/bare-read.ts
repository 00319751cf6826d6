import { Controller, Headers, Module, Post, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import pg from 'pg';

/** The least that a replay can be: a bare Nest route on the same adapter that reads one row by its primary key and sends it. */
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });
const READ = {
  name: 'read',
  text: 'SELECT reply_status, reply_headers, reply_body FROM idempotency_keys WHERE tenant_id = $1 AND key = $2',
};

@Controller('bare')
class BareController {
  @Post()
  async read(@Headers('idempotency-key') key: string, @Res() reply: FastifyReply): Promise<void> {
    const { rows } = await pool.query<{ reply_status: number; reply_headers: object; reply_body: Buffer }>(
      READ,
      ['acme', key],
    );
    const [row] = rows;
    void reply
      .code(row!.reply_status)
      .headers({ ...row!.reply_headers })
      .send(row!.reply_body);
  }
}

@Module({ controllers: [BareController] })
class BareModule {}

const app = await NestFactory.create<NestFastifyApplication>(BareModule, new FastifyAdapter(), {
  logger: false,
});
await app.listen(Number(process.env['PORT']), '127.0.0.1');
