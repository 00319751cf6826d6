import { Controller, Delete, Get, Header, HttpCode, Param, Post, Query, UseGuards } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import { withoutAddresses } from '../http/logger.js';
import { Public } from '../http/public.decorator.js';
import { DeadLetters, type MessageState } from '../outbox/dead-letters.js';
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

  @Get()
  @Header('Cache-Control', 'no-store')
  async list(@Query() { limit = 20, cursor }: PageQueryDto) {
    const found = await this.letters.list(limit + 1, cursor); // one more tells whether there is a next page
    const data = found.slice(0, limit).map(messageBody);
    return { data, nextCursor: found.length > limit ? (data.at(-1)?.id ?? null) : null };
  }

  /** Due now, with all its tries before it. Twice is once: a message that is no dead letter stays as it is. */
  @Post(':id/requeue')
  @HttpCode(200)
  async requeue(@Param('id') id: string): Promise<MessageState> {
    const message = isMessageId(id) ? await this.letters.requeue(id) : undefined;
    if (!message) throw deadLetterNotFound(id);
    return messageBody(message);
  }

  /** Deletes it for good: nobody will ever get it. */
  @Delete(':id')
  @HttpCode(204)
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
