import { Body, Controller, Get, Header, Param, Put, Query, UseGuards } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import { Public } from '../http/public.decorator.js';
import { Decisions } from '../idempotency/decisions.js';
import { reviewNotFound } from '../idempotency/review.problems.js';
import type { DecidedReview } from '../idempotency/review.store.js';
import { DecideReviewDto } from './decide-review.dto.js';
import { ListReviewsDto } from './list-reviews.dto.js';
import { CurrentOperator, type Operator } from './operator.js';
import { OperatorGuard } from './operator.guard.js';
import { ReviewsReader } from './reviews.reader.js';

/** Questions that no program may decide. */
@ApiTags('operator')
@ApiBearerAuth('operator')
@Public() // no tenant's route: the guard below is its door
@UseGuards(OperatorGuard)
@Controller('v1/operator/reviews')
export class ReviewsController {
  constructor(
    private readonly reviews: ReviewsReader,
    private readonly decisions: Decisions,
  ) {}

  @Get()
  @Header('Cache-Control', 'no-store')
  list(@Query() query: ListReviewsDto) {
    return this.reviews.list(query);
  }

  /** Naturally idempotent: the first decision stands, the same again is answered as the first time. */
  @Put(':id/decision')
  async decide(
    @CurrentOperator() { label }: Operator,
    @Param('id') id: string,
    @Body() { decision, providerId, note }: DecideReviewDto,
  ) {
    if (!/^rev_[0-9a-z]{26}$/.test(id)) throw reviewNotFound(id);
    const verdict = { decision, providerId: providerId ?? null, note: note ?? null, decidedBy: label };
    return decisionBody(await this.decisions.decide(id, verdict));
  }
}

/** Only what never changes again, so that every answer to the same decision is the same. */
function decisionBody({ id, decision, providerId, note, decidedBy, decidedAt }: DecidedReview) {
  return { id, decision, providerId, note, decidedBy, decidedAt };
}
