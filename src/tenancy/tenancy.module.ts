import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Authenticator } from './authenticator.js';
import { TenantGuard } from './tenant.guard.js';

@Module({
  providers: [Authenticator, { provide: APP_GUARD, useClass: TenantGuard }],
  exports: [Authenticator],
})
export class TenancyModule {}
