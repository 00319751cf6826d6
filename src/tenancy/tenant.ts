import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** The authenticated account behind an API key. */
export interface Tenant {
  readonly id: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the tenant guard on every route that is not public. */
    tenant: Tenant | undefined;
  }
}

/** @throws where the route is public: that is a mistake of ours, not of the client */
export function tenantOf(request: FastifyRequest): Tenant {
  if (!request.tenant) throw new Error('A public route has no tenant');
  return request.tenant;
}

/** The tenant that a route acts for: `create(@CurrentTenant() tenant: Tenant)`. */
export const CurrentTenant = createParamDecorator((_data: undefined, context: ExecutionContext) =>
  tenantOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
