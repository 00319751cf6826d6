import { Controller, Injectable, Module, Param, Post } from '@nestjs/common';
import { statement } from '../../src/database/statement.js';
import { Idempotent } from '../../src/idempotency/idempotent.decorator.js';
import {
  atomicPhase,
  foreignCall,
  operation,
  recoveryPoint,
  refusal,
  reply,
  Reply,
  type Point,
} from '../../src/idempotency/operation.js';
import { Operations } from '../../src/idempotency/operations.js';
import { Problem } from '../../src/http/problem.js';
import { letService, type TestDatabase } from './database.js';

const NOTE = statement('probe_note', 'INSERT INTO tenants (id, name) VALUES ($1, $2)');
const FAIL = statement('probe_divide', 'SELECT 1 / 0');

/** A trip notes what it books where the service has nothing to write. */
export async function letTripsBook({ sql }: Pick<TestDatabase, 'sql'>): Promise<void> {
  await letService(sql, 'INSERT ON tenants');
}

export interface TripInput {
  readonly behaviour: string;
}

interface TripPoints {
  started: Point<undefined>;
  booked: Point<{ note: string }, { seat: string }>;
  called: Point<{ note: string; answer: string }>;
}

type CallOutcome =
  | { status: 'done'; answer: string }
  | { status: 'unknown' | 'not_acted' | 'contradicted'; reason: string; retryAfterSeconds?: number };

export const CONFLICT = new Problem({
  status: 409,
  code: 'probe_conflict',
  title: 'No',
  detail: 'Not today.',
});

/**
 * An operation that does on purpose what operations of the service must not. It books (local), calls (foreign, here
 * a function that counts), and answers; `behaviour` says where it goes wrong.
 */
@Injectable()
export class Trip {
  calls: { request: unknown; derivedKey: string }[] = [];
  phases: string[] = [];
  /** What goes wrong this time; null when nothing does any more. */
  broken = true;
  /** What the other system says; that it did what it was asked, unless it is told otherwise. */
  says: CallOutcome | undefined;
  /** Looks at the world while the call is out. */
  duringCall: () => Promise<void> = () => Promise.resolve();

  readonly operation = operation<TripInput, TripPoints>('probe_trip', {
    started: atomicPhase(async (tx, run) => {
      this.phases.push('started');
      tx.send(NOTE, [`booked-${run.id}`, 'a booking']);
      if (this.goesWrong(run.input, 'refused_in_first_phase')) throw CONFLICT;
      if (this.goesWrong(run.input, 'error_in_first_phase')) throw new Error('broken');
      if (run.input.behaviour === 'final_refusal') return refusal(CONFLICT);
      if (run.input.behaviour === 'no_content') return new Reply(204, {}, Buffer.alloc(0));
      if (run.input.behaviour === 'plain_text') {
        return new Reply(
          200,
          { 'Content-Type': 'text/plain; charset=latin1' },
          Buffer.from([0x66, 0xfc, 0x0a, 0x00]),
        );
      }
      if (this.goesWrong(run.input, 'swallowed_error')) await tx.query(FAIL).catch(() => undefined);
      if (this.goesWrong(run.input, 'swallowed_out_of_sight')) {
        await tx
          .managerFor('acme')
          .query('SELECT 1 / 0')
          .catch(() => undefined); // COMMIT will be answered with ROLLBACK
      }
      return recoveryPoint('booked', { note: `booked-${run.id}` }, { seat: '7A' });
    }),

    booked: foreignCall({
      step: 'call',
      call: async (request, derivedKey): Promise<CallOutcome> => {
        this.calls.push({ request, derivedKey });
        await this.duringCall();
        return this.says ?? { status: 'done', answer: `seat ${request.seat}` };
      },
      find: async (): Promise<CallOutcome> => ({ status: 'unknown', reason: 'not looked for' }),
      record: async (tx, outcome, run) => {
        this.phases.push('record');
        tx.send(NOTE, [`recorded-${run.id}`, outcome.answer]);
        if (this.goesWrong(run.input, 'error_after_call')) throw CONFLICT;
        return recoveryPoint('called', { ...run.state, answer: outcome.answer });
      },
    }),

    called: atomicPhase(async (tx, run) => {
      this.phases.push('called');
      if (this.goesWrong(run.input, 'error_in_last_phase')) throw new Error('broken');
      if (this.goesWrong(run.input, 'sql_error_in_last_phase')) tx.send(FAIL);
      return reply(201, { note: run.state.note, answer: run.state.answer });
    }),
  });

  private goesWrong({ behaviour }: TripInput, here: string): boolean {
    return this.broken && behaviour === here;
  }
}

@Controller('probe/trips')
class TripsController {
  @Post(':behaviour')
  @Idempotent(Trip)
  create(@Param('behaviour') behaviour: string): TripInput {
    return { behaviour };
  }
}

@Module({ controllers: [TripsController], providers: [Trip] })
export class EngineModule {
  constructor(operations: Operations, { operation }: Trip) {
    operations.register(operation);
  }
}
