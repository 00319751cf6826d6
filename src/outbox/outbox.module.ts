import { Module } from '@nestjs/common';
import { MessageHandlers } from './delivery.js';
import { Outbox } from './outbox.js';

/** For whoever stages messages (`Outbox`) and whoever delivers them (`MessageHandlers`); every role imports it. */
@Module({ providers: [Outbox, MessageHandlers], exports: [Outbox, MessageHandlers] })
export class OutboxModule {}
