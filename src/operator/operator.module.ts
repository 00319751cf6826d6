import { Module } from '@nestjs/common';
import { ChargesModule } from '../charges/charges.module.js';
import { OutboxModule } from '../outbox/outbox.module.js';
import { RefundsModule } from '../refunds/refunds.module.js';
import { Erasures } from '../erasure/erasures.js';
import { DeadLettersController } from './dead-letters.controller.js';
import { ErasuresController } from './erasures.controller.js';
import { OperatorTokens } from './operator-tokens.js';
import { ReviewsController } from './reviews.controller.js';
import { ReviewsReader } from './reviews.reader.js';

/** What a person may see and decide: reviews, dead letters, and whose data is erased. */
@Module({
  imports: [ChargesModule, RefundsModule, OutboxModule],
  controllers: [ReviewsController, DeadLettersController, ErasuresController],
  providers: [OperatorTokens, ReviewsReader, Erasures],
})
export class OperatorRoutes {}
