import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { bearerToken } from '../http/bearer.js';
import type { Problem } from '../http/problem.js';
import { Authenticator } from '../tenancy/authenticator.js';
import type { Operator } from './operator.js';
import { OperatorTokens } from './operator-tokens.js';
import { operatorTokenNeeded, operatorsOnly } from './operator.problems.js';

/** Is an operator asking? A tenant's key opens nothing here, as an operator's token opens no tenant's route. */
@Injectable()
export class OperatorGuard implements CanActivate {
  constructor(
    private readonly tokens: OperatorTokens,
    private readonly tenants: Authenticator,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    request.operator = await this.authenticate(bearerToken(request.headers.authorization));
    request.annotations = { ...request.annotations, operator: request.operator.label };
    return true;
  }

  private async authenticate(token: string | undefined): Promise<Operator> {
    const operator = token === undefined ? undefined : this.tokens.operatorOf(token);
    if (!operator) throw await this.refusalOf(token);
    return operator;
  }

  private async refusalOf(token: string | undefined): Promise<Problem> {
    const tenant = token === undefined ? undefined : await this.tenants.tenantOf(token);
    return tenant ? operatorsOnly() : operatorTokenNeeded();
  }
}
