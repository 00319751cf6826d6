import { Module } from '@nestjs/common';
import { AbandonedKeyStore } from '../../src/idempotency/abandoned-key.store.js';
import { Completer } from '../../src/idempotency/completer.js';
import { Reaper } from '../../src/idempotency/reaper.js';
import { ReaperStore } from '../../src/idempotency/reaper.store.js';

/** The completer and the reaper without their loops: a test runs them round by round. */
@Module({ providers: [AbandonedKeyStore, Completer, ReaperStore, Reaper] })
export class RecoveryParts {}
