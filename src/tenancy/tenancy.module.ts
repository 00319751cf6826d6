import { Module, type DynamicModule, type Provider, type Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Authenticator } from './authenticator.js';
import { TenantGuard } from './tenant.guard.js';

/** Closes every route that does not say otherwise. Global, as there is one way to find out who is asking. */
@Module({ providers: [{ provide: APP_GUARD, useClass: TenantGuard }] })
export class TenancyModule {
  /** @param needs what the authenticator is told */
  static by(authenticator: Type<Authenticator>, ...needs: Provider[]): DynamicModule {
    return {
      module: TenancyModule,
      global: true,
      providers: [{ provide: Authenticator, useClass: authenticator }, ...needs],
      exports: [Authenticator],
    };
  }
}
