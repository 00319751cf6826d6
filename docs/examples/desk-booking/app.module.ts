import { Module, ValidationPipe, type DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { timingsOf } from '../../../src/config/timings.js';
import { DatabaseModule } from '../../../src/database/database.module.js';
import type { EngineSettings } from '../../../src/idempotency/engine-settings.js';
import { IdempotencyModule } from '../../../src/idempotency/idempotency.module.js';
import { Operations } from '../../../src/idempotency/operations.js';
import { RecoveryModule } from '../../../src/idempotency/recovery.module.js';
import { BookDesk } from './book-desk.operation.js';
import { BookingsController } from './bookings.controller.js';
import { Door } from './door.js';
import { ProblemFilter } from './problem.filter.js';
import { TeamGuard } from './team.guard.js';

/** What the application is told; it has no provider, and sends no mail. */
export interface Settings {
  readonly databaseUrl: string;
  readonly doorUrl: string;
  readonly port: number;
  /** Seconds. */
  readonly lease: number;
  readonly hashSecret: string;
  readonly faults: boolean;
}

const engine = ({ lease, hashSecret, faults }: Settings): EngineSettings => ({
  keyPrefix: 'desks',
  keyWindowHours: 24, // as long as the doors remember a key
  hashSecret,
  retentionHours: 72,
  timings: timingsOf(lease),
  completerMaxTries: 20,
  commitEveryPhase: false,
  faults,
});

/** One process answers and works in the background; in several, one of each role, the workers alone import `RecoveryModule`. */
@Module({
  controllers: [BookingsController],
  providers: [
    BookDesk,
    { provide: APP_GUARD, useClass: TeamGuard },
    { provide: APP_FILTER, useClass: ProblemFilter },
    { provide: APP_PIPE, useFactory: () => new ValidationPipe({ whitelist: true }) },
  ],
})
export class AppModule {
  constructor(operations: Operations, { operation }: BookDesk) {
    operations.register(operation);
  }

  static for(settings: Settings): DynamicModule {
    const { databaseUrl: url, lease, doorUrl } = settings;
    return {
      module: AppModule,
      imports: [
        DatabaseModule.for({ url, poolSize: 10, lease }, []),
        IdempotencyModule.for(engine(settings)),
        RecoveryModule,
      ],
      providers: [{ provide: Door, useValue: new Door(doorUrl) }],
    };
  }
}
