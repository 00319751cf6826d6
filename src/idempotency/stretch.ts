import type { Tx } from '../database/transaction.js';
import type { Course, LocalStep } from './course.js';
import type { Advance } from './attempt.js';
import { Reply, type RecoveryPoint } from './operation.js';

/** Local phases that run one after the other in one transaction, up to a foreign call or the reply. */
export class Stretch {
  /** How many have begun: where it is one, the first is what failed. */
  phases = 0;

  constructor(
    private readonly course: Course,
    private readonly first: LocalStep,
    private readonly join: boolean,
  ) {}

  async write(tx: Tx): Promise<Reply | Advance> {
    this.phases = 1;
    let next = await this.first(tx, this.course.runWith(this.course.attempt.state));
    while (this.join && !(next instanceof Reply)) {
      const phase = this.course.phaseAt(next.name);
      if (phase?.kind !== 'atomic') break;
      this.phases++;
      next = await phase.run(tx, this.course.runWith(next.state));
    }
    return next instanceof Reply ? next : this.advanceTo(next);
  }

  /** The request to the other system is frozen here, with the key it will be sent under. */
  private advanceTo({ name, state, request }: RecoveryPoint<string, unknown, unknown>): Advance {
    const phase = this.course.phaseAt(name);
    if (phase?.kind !== 'foreign') return { recoveryPoint: name, state, request: undefined };
    const { step } = phase;
    return {
      recoveryPoint: name,
      state,
      request: { body: request, step, derivedKey: this.course.derivedKey(step) },
    };
  }
}
