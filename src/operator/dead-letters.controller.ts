import { Controller, Delete, Get, Header, HttpCode, Param, Post, Query, UseGuards } from '@nestjs/common';
import { ApiBearerAuth, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { withoutAddresses } from '../http/logger.js';
import { Problems } from '../http/problems.decorator.js';
import { Public } from '../http/public.decorator.js';
import { invalid } from '../http/validation.example.js';
import { DeadLetters, type MessageState } from '../outbox/dead-letters.js';
import { EXAMPLE_MESSAGE, OPERATORS_ONLY } from './operator.example.js';
import { MessageBody, MessagePageBody } from './operator-bodies.dto.js';
import { OperatorGuard } from './operator.guard.js';
import { deadLetterNotFound, messageNotDead } from './operator.problems.js';
import { PageQueryDto } from './page-query.dto.js';

/** Messages that the relay gave up. */
@ApiTags('operator')
@ApiBearerAuth('operator')
@Public() // no tenant's route: the guard below is its door
@UseGuards(OperatorGuard)
@Controller('v1/operator/dead-letters')
export class DeadLettersController {
  constructor(private readonly letters: DeadLetters) {}

  /** The newest first. */
  @Get()
  @Header('Cache-Control', 'no-store')
  @ApiOkResponse({ type: MessagePageBody, example: { data: [EXAMPLE_MESSAGE], nextCursor: null } })
  @Problems(invalid('limit', 'must not be greater than 100'), ...OPERATORS_ONLY)
  async list(@Query() { limit = 20, cursor }: PageQueryDto): Promise<MessagePageBody> {
    const found = await this.letters.list(limit + 1, cursor); // one more tells whether there is a next page
    const data = found.slice(0, limit).map(messageBody);
    return { data, nextCursor: found.length > limit ? (data.at(-1)?.id ?? null) : null };
  }

  /** Due now, with all its tries before it. Twice is once: a message that is no dead letter stays as it is. */
  @Post(':id/requeue')
  @HttpCode(200)
  @ApiOkResponse({ type: MessageBody, example: EXAMPLE_MESSAGE })
  @Problems(...OPERATORS_ONLY, deadLetterNotFound(EXAMPLE_MESSAGE.id))
  async requeue(@Param('id') id: string): Promise<MessageBody> {
    const message = isMessageId(id) ? await this.letters.requeue(id) : undefined;
    if (!message) throw deadLetterNotFound(id);
    return messageBody(message);
  }

  /** Deletes it for good: nobody will ever get it. */
  @Delete(':id')
  @HttpCode(204)
  @ApiNoContentResponse({ description: 'Gone.' })
  @Problems(...OPERATORS_ONLY, deadLetterNotFound(EXAMPLE_MESSAGE.id), messageNotDead(EXAMPLE_MESSAGE.id))
  async purge(@Param('id') id: string): Promise<void> {
    if (!isMessageId(id)) throw deadLetterNotFound(id);
    if (await this.letters.purge(id)) return;
    throw (await this.letters.find(id)) ? messageNotDead(id) : deadLetterNotFound(id);
  }
}

function isMessageId(id: string): boolean {
  return /^msg_[0-9a-z]{26}$/.test(id);
}

/** Mail servers like to repeat whom they refuse. */
function messageBody(message: MessageState): MessageState {
  return { ...message, lastError: message.lastError === null ? null : withoutAddresses(message.lastError) };
}
