import { Module } from '@nestjs/common';
import { ChargesModule } from '../charges/charges.module.js';
import { RefundsModule } from '../refunds/refunds.module.js';
import { IdempotencyKeysController } from './idempotency-keys.controller.js';

/** What a client may read of its keys, whatever they led to. */
@Module({ imports: [ChargesModule, RefundsModule], controllers: [IdempotencyKeysController] })
export class KeysRoutes {}
