import { Global, Module } from '@nestjs/common';
import { Limits } from './limits.js';
import { SharedUse } from './shared-use.js';

/** Global, as the guard that knows the tenant is. */
@Global()
@Module({ providers: [Limits, SharedUse], exports: [Limits] })
export class LimitsModule {}
