import { Module } from '@nestjs/common';
import { ChargesModule } from '../charges/charges.module.js';
import { OutboxModule } from '../outbox/outbox.module.js';
import { RefundsModule } from '../refunds/refunds.module.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { DeadLettersController } from './dead-letters.controller.js';
import { OperatorTokens } from './operator-tokens.js';
import { ReviewsController } from './reviews.controller.js';
import { ReviewsReader } from './reviews.reader.js';

/** What a person may see and decide: reviews and dead letters. */
@Module({
  imports: [ChargesModule, RefundsModule, OutboxModule, TenancyModule],
  controllers: [ReviewsController, DeadLettersController],
  providers: [OperatorTokens, ReviewsReader],
})
export class OperatorRoutes {}
