import { Problem } from '../http/problem.js';
import type { Tx } from '../database/transaction.js';

/** Where an operation can be broken on purpose, and what that reproduces. */
export const FAULT_POINTS = {
  /** Everything of the phase is written, nothing is committed: a crash here must leave no trace of the phase. */
  'phase.before_commit': 'the process dies, or the database is lost, just before a phase becomes durable',
  /** The phase is durable, nobody has been told: the next owner must continue behind it. */
  'phase.after_commit': 'the process dies between a commit and whatever comes next',
  /** The request to the other system is frozen and not yet sent. */
  'call.before': 'the process dies after it promised to call, before it calls',
  /** The other system has acted, and the process has not written down what it was told. */
  'call.after': 'the charge is made, and the one that knows dies',
  /** The reply is stored, the client has not seen it. */
  'reply.before_send': 'the answer is lost after everything is done',
} as const;

const ACTIONS = ['crash', 'throw', 'hang', 'lose_reply', 'drop_db', 'lose_commit_answer'] as const;

export type FaultAction = (typeof ACTIONS)[number];

/** How a fault takes hold of what runs around it. */
export interface FaultContext {
  readonly tx?: Tx;
  /** Destroys the client's connection; the work goes on. */
  readonly loseReply: () => void;
  /** Stalls as a stopped process would: no lease is renewed meanwhile. */
  readonly hang: () => Promise<void>;
  /** Cuts a connection of the pool, where no transaction is open. */
  readonly dropIdle: () => Promise<void>;
}

export class InjectedFault extends Error {
  constructor(point: string) {
    super(`Fault injected at ${point}`);
    this.name = 'InjectedFault';
  }
}

/** One fault, for one request; it fires once. Made only where FAULTS is on, which production refuses. */
export class Fault {
  private armed = true;

  constructor(
    readonly point: string,
    readonly action: FaultAction,
  ) {}

  /** Reads `Sandbox-Fault: <point>=<action>`. @throws Problem 400 */
  static parse(header: string): Fault {
    const [, point = '', action = ''] = /^\s*([^=]+)=(\w+)\s*$/.exec(header) ?? [];
    const [place = ''] = point.split(':');
    const known = place in FAULT_POINTS && (point.includes(':') || place === 'reply.before_send');
    const fits = action !== 'lose_commit_answer' || place === 'phase.before_commit';
    if (!known || !fits || !ACTIONS.some((each) => each === action)) throw malformed(header);
    return new Fault(point, action as FaultAction);
  }

  async reach(point: string, context: FaultContext): Promise<void> {
    if (!this.armed || point !== this.point) return;
    this.armed = false;
    await this.fire(context);
  }

  private async fire({ tx, loseReply, hang, dropIdle }: FaultContext): Promise<void> {
    switch (this.action) {
      case 'crash':
        process.kill(process.pid, 'SIGKILL');
        return hang(); // until the signal has arrived
      case 'throw':
        throw new InjectedFault(this.point);
      case 'hang':
        return hang();
      case 'lose_reply':
        return loseReply();
      case 'drop_db':
        return tx ? tx.sever() : dropIdle();
      case 'lose_commit_answer':
        return tx?.loseCommitAnswer();
    }
  }
}

function malformed(header: string): Problem {
  return new Problem({
    status: 400,
    code: 'sandbox_fault_invalid',
    title: 'Sandbox-Fault cannot be read',
    detail: `"${header}" is not <point>=<action>: points are phase.before_commit:<recovery point>, phase.after_commit:<recovery point>, call.before:<step>, call.after:<step> and reply.before_send; actions are ${ACTIONS.join(', ')} (the last only before a commit).`,
  });
}
