import { Logger } from '@nestjs/common';
import { Problem } from '../http/problem.js';
import type { Tx } from '../database/transaction.js';
import type { AnyOperation } from './operation.js';

/**
 * Where an operation can be broken on purpose, and what that reproduces.
 *
 * - `phase.before_commit:<recovery point>`: everything is written, nothing is committed. A crash must leave no trace. An
 *   error is healed where phases are joined: the phases then run one by one.
 * - `phase.after_commit:<recovery point>`: durable, and nobody has been told. The next owner must continue behind it;
 *   after `finished` even the first client is sent the stored reply, as a replay.
 * - `call.before:<step>`: the request to the other system is frozen and not yet sent.
 * - `call.after:<step>`: the other system has acted, and nobody has written down what it said.
 * - `reply.before_send`: everything is done, and the client has not heard of it.
 *
 * The recovery point is the one that is reached; `finished` is the last.
 */
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
  private readonly logger = new Logger(Fault.name);
  private armed = true;

  constructor(
    readonly point: string,
    readonly action: FaultAction,
  ) {}

  /** Reads `Sandbox-Fault: <point>=<action>`. @throws Problem 400, for a point that `operation` never reaches, too */
  static parse(header: string, operation: AnyOperation): Fault {
    const [, point = '', action = ''] = /^\s*([^=]+)=(\w+)\s*$/.exec(header) ?? [];
    const points = pointsOf(operation);
    const fits = action !== 'lose_commit_answer' || point.startsWith('phase.before_commit');
    if (!points.includes(point) || !isAction(action) || !fits) throw malformed(header, points);
    return new Fault(point, action);
  }

  async reach(point: string, context: FaultContext): Promise<void> {
    if (!this.armed || point !== this.point) return;
    this.armed = false;
    await context.tx?.settle(); // everything is written
    this.logger.warn({ msg: 'fault injected', point, action: this.action });
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

function isAction(action: string): action is FaultAction {
  return ACTIONS.some((each) => each === action);
}

/** Every point that a run of `operation` can reach; inner ones only where every phase is committed. */
function pointsOf({ phases }: AnyOperation): string[] {
  const named = Object.entries(phases as Record<string, { kind: string; step?: string }>);
  const reached = [...named.map(([name]) => name).filter((name) => name !== 'started'), 'finished'];
  const steps = [...new Set(named.flatMap(([, { step }]) => step ?? []))];
  return [
    ...reached.flatMap((name) => [`phase.before_commit:${name}`, `phase.after_commit:${name}`]),
    ...steps.flatMap((step) => [`call.before:${step}`, `call.after:${step}`]),
    'reply.before_send',
  ];
}

function malformed(header: string, points: readonly string[]): Problem {
  return new Problem({
    status: 400,
    code: 'sandbox_fault_invalid',
    title: 'Sandbox-Fault cannot be read',
    detail: `"${header}" is not <point>=<action>. Points here: ${points.join(', ')}. Actions: ${ACTIONS.join(', ')} (the last only before a commit).`,
  });
}
