import { Module } from '@nestjs/common';
import { Reaper } from './reaper.js';

/** For whoever keeps rows for a while, and for whoever runs the reaper. */
@Module({ providers: [Reaper], exports: [Reaper] })
export class ReaperModule {}
