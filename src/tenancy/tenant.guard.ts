import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { bearerToken } from '../http/bearer.js';
import { unauthenticated } from '../http/problems.js';
import { Public } from '../http/public.decorator.js';
import { Limits } from '../limits/limits.js';
import { Authenticator } from './authenticator.js';

/** Global, so that a route that says nothing is closed. Guards run before anything reads the body or the key. */
@Injectable()
export class TenantGuard implements CanActivate {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly limits: Limits,
    private readonly reflector: Reflector,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.reflector.getAllAndOverride(Public, [context.getHandler(), context.getClass()])) return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    request.tenant = await this.authenticate(request.headers.authorization);
    request.annotations = { ...request.annotations, tenant: request.tenant.id };
    this.limits.tenant(request.tenant.id);
    return true;
  }

  private async authenticate(header: string | undefined) {
    const token = bearerToken(header);
    const tenant = token && (await this.authenticator.tenantOf(token));
    if (!tenant) throw unauthenticated();
    return tenant;
  }
}
