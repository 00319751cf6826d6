import { Module } from '@nestjs/common';
import { ReaperModule } from '../../src/background/reaper.module.js';
import { AbandonedKeyStore } from '../../src/idempotency/abandoned-key.store.js';
import { Completer } from '../../src/idempotency/completer.js';

/** The completer and the reaper without their loops: a test runs them round by round. */
@Module({ imports: [ReaperModule], providers: [AbandonedKeyStore, Completer] })
export class RecoveryParts {}
