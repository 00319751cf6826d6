import { Injectable, UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { statement } from '../../../src/database/statement.js';
import { Database } from '../../../src/database/transaction.js';

/** The application's own way to know its callers. All that the engine asks of it is `request.tenant`, before the key is read. */
@Injectable()
export class TeamGuard implements CanActivate {
  constructor(private readonly database: Database) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const [team] = await this.database.query<{ id: string }>(FIND, [request.headers['x-team-token'] ?? '']);
    if (!team) throw new UnauthorizedException();
    request.tenant = team;
    return true;
  }
}

const FIND = statement('team_find', 'SELECT id FROM teams WHERE token = $1');
