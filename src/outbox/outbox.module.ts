import { Module } from '@nestjs/common';
import { ReaperModule } from '../background/reaper.module.js';
import { Reaper } from '../background/reaper.js';
import { Config } from '../config/config.js';
import { DeadLetters } from './dead-letters.js';
import { MessageHandlers } from './delivery.js';
import { OutboxBacklog } from './outbox-backlog.js';
import { Outbox } from './outbox.js';
import { SENT_MESSAGES } from './sent-messages.js';

/**
 * For whoever stages messages (`Outbox`), delivers them (`MessageHandlers`) or sees to what was given up
 * (`DeadLetters`); every role imports it.
 */
@Module({
  imports: [ReaperModule],
  providers: [Outbox, MessageHandlers, DeadLetters, OutboxBacklog],
  exports: [Outbox, MessageHandlers, DeadLetters],
})
export class OutboxModule {
  constructor(reaper: Reaper, { outboxRetentionDays }: Config) {
    reaper.register({ name: 'outbox', days: outboxRetentionDays, ...SENT_MESSAGES });
  }
}
