import { Body, Controller, Get, Header, Param, Put, Query, UseGuards } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Problems } from '../http/problems.decorator.js';
import { Public } from '../http/public.decorator.js';
import { invalid } from '../http/validation.example.js';
import { Decisions } from '../idempotency/decisions.js';
import {
  confirmationUnavailable,
  decisionImpossible,
  keyMovedOn,
  notConfirmed,
  reviewAlreadyDecided,
  reviewNotFound,
} from '../idempotency/review.problems.js';
import { sealedElsewhere } from '../idempotency/sealing.problems.js';
import type { DecidedReview } from '../idempotency/review.store.js';
import { DecideReviewDto } from './decide-review.dto.js';
import { ListReviewsDto } from './list-reviews.dto.js';
import { CurrentOperator, type Operator } from './operator.js';
import { EXAMPLE_DECISION, EXAMPLE_REVIEW, OPERATORS_ONLY } from './operator.example.js';
import { DecisionBody, ReviewPageBody } from './operator-bodies.dto.js';
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

  /** The newest first. */
  @Get()
  @Header('Cache-Control', 'no-store')
  @ApiOkResponse({ type: ReviewPageBody, example: { data: [EXAMPLE_REVIEW], nextCursor: null } })
  @Problems(invalid('limit', 'must not be greater than 100'), ...OPERATORS_ONLY)
  list(@Query() query: ListReviewsDto): Promise<ReviewPageBody> {
    return this.reviews.list(query);
  }

  /** Naturally idempotent: the first decision stands, the same again is answered as the first time. */
  @Put(':id/decision')
  @ApiOkResponse({ type: DecisionBody, example: decisionBody(EXAMPLE_DECISION) })
  @Problems(
    invalid('decision', 'must be one of the following values: mark_succeeded, mark_failed, retry'),
    ...OPERATORS_ONLY,
    reviewNotFound(EXAMPLE_DECISION.id),
    reviewAlreadyDecided(EXAMPLE_DECISION),
    decisionImpossible('mark_failed'),
    notConfirmed('another amount'),
    keyMovedOn(),
    confirmationUnavailable('timeout'),
    sealedElsewhere('2026-01'),
  )
  async decide(
    @CurrentOperator() { label }: Operator,
    @Param('id') id: string,
    @Body() { decision, providerId, note }: DecideReviewDto,
  ): Promise<DecisionBody> {
    if (!/^rev_[0-9a-z]{26}$/.test(id)) throw reviewNotFound(id);
    const verdict = { decision, providerId: providerId ?? null, note: note ?? null, decidedBy: label };
    return decisionBody(await this.decisions.decide(id, verdict));
  }
}

/** Only what never changes again, so that every answer to the same decision is the same. */
function decisionBody({ id, decision, providerId, note, decidedBy, decidedAt }: DecidedReview): DecisionBody {
  return { id, decision, providerId, note, decidedBy, decidedAt };
}
