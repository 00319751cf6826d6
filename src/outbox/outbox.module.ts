import { Module } from '@nestjs/common';
import { DeadLetters } from './dead-letters.js';
import { MessageHandlers } from './delivery.js';
import { OutboxBacklog } from './outbox-backlog.js';
import { Outbox } from './outbox.js';

/**
 * For whoever stages messages (`Outbox`), delivers them (`MessageHandlers`) or sees to what was given up
 * (`DeadLetters`); every role imports it.
 */
@Module({
  providers: [Outbox, MessageHandlers, DeadLetters, OutboxBacklog],
  exports: [Outbox, MessageHandlers, DeadLetters],
})
export class OutboxModule {}
