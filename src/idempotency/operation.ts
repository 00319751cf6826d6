import type { Tx } from '../database/transaction.js';
import type { Problem } from '../http/problem.js';

/**
 * The vocabulary of an operation: an ordered list of phases, each run from a named recovery point.
 *
 *   interface Points {
 *     started:        Point<undefined>;              // where every key begins
 *     order_created:  Point<OrderState, ChargeRequest>; // a foreign call follows: its request is frozen here
 *     charge_created: Point<ChargeState>;
 *   }
 *   operation<Input, Points>('checkout', { started: atomicPhase(…), order_created: foreignCall({…}), … })
 *
 * A recovery point that does not exist, or that is handed the wrong state, does not compile.
 */
export interface Point<State, Request = undefined> {
  readonly state: State;
  readonly request: Request;
}

type PointMap<Points> = { readonly [Name in keyof Points]: Point<unknown, unknown> };

/** What a phase may know. `id` is the durable id of this execution; it outlives every attempt. */
export interface Run<Input, State = unknown> {
  readonly tenantId: string;
  readonly id: string;
  /** What the client calls it. */
  readonly key: string;
  readonly input: Input;
  readonly state: State;
  readonly requestId: string;
  /** The key under which the step's call reaches the other system: the same for every attempt and process. */
  derivedKey(step: string): string;
}

export class RecoveryPoint<Name extends string, State, Request> {
  constructor(
    readonly name: Name,
    readonly state: State,
    readonly request: Request,
  ) {}
}

/** The stored answer: what is sent first is what every replay sends. */
export class Reply {
  constructor(
    readonly status: number,
    readonly headers: Readonly<Record<string, string>>,
    readonly body: Buffer,
  ) {}
}

/** How a phase ends, seen from the runner, which runs any operation. */
export type AnyNext = Reply | RecoveryPoint<string, unknown, unknown>;

/** How a phase ends: at one of the operation's recovery points, or with the answer. */
export type Next<Points> =
  | Reply
  | {
      [Name in keyof Points & string]: Points[Name] extends Point<infer State, infer Request>
        ? RecoveryPoint<Name, State, Request>
        : never;
    }[keyof Points & string];

/** Local writes, committed in one transaction together with the recovery point that they reach. */
export interface AtomicPhase<Input, State, Points> {
  readonly kind: 'atomic';
  readonly run: (tx: Tx, run: Run<Input, State>) => Promise<Next<Points>>;
}

/** The call did not happen, for a reason that may pass: refused connection, 401, 429. It is made again later. */
export interface NotActed {
  readonly status: 'not_acted';
  readonly reason: string;
}

/** Nobody can tell whether the other system acted: timeout, reset, 5xx. Same request, same derived key, later. */
export interface Unknown {
  readonly status: 'unknown';
  readonly reason: string;
}

/** The other system contradicts us (another request under our derived key, another amount): a person decides. */
export interface Contradicted {
  readonly status: 'contradicted';
  readonly reason: string;
}

export type Unsettled = NotActed | Unknown | Contradicted;

/** What remains for `record` once the runner has dealt with the outcomes that settle nothing. */
export type SettledOf<Outcome> = Exclude<Outcome, { status: Unsettled['status'] }>;

/** A call that changes another system, made with no transaction open. */
export interface ForeignCall<Input, State, Request, Outcome extends { status: string }, Points> {
  readonly kind: 'foreign';
  /** Names the call within the operation; part of the derived key. */
  readonly step: string;
  readonly call: (request: Request, derivedKey: string) => Promise<Outcome>;
  /**
   * `false`: the other system takes no key. Such a call is made once; where nobody knows what came of it, it is looked
   * up, or a person decides, and it is never sent again.
   */
  readonly keyed?: false;
  /** After a second unknown outcome: looks for the effect at the other system. Absence proves nothing. */
  readonly find?: (request: Request) => Promise<Outcome>;
  /** Records what the call answered. Its effects must be safe to repeat: a webhook may have come first. */
  readonly record: (tx: Tx, outcome: SettledOf<Outcome>, run: Run<Input, State>) => Promise<Next<Points>>;
  /** Notes on the business rows that nobody knows the outcome, or that a person must decide; commits with that. */
  readonly doubt?: (tx: Tx, run: Run<Input, State>, as: 'unknown' | 'review') => Promise<void>;
  /** What the other system says of the effect that it knows as `id`: a person's "it was made" is checked by it. */
  readonly retrieve?: (request: Request, id: string) => Promise<Outcome>;
  /** The outcome that a person's "it was not made" stands for. */
  readonly notMade?: SettledOf<Outcome>;
}

export type Phase<Input, Points, Name extends keyof Points> =
  Points[Name] extends Point<infer State, infer Request>
    ? [Request] extends [undefined]
      ? AtomicPhase<Input, State, Points>
      : // eslint-disable-next-line @typescript-eslint/no-explicit-any -- each call settles in its own way
        ForeignCall<Input, State, Request, any, Points>
    : never;

export type Phases<Input, Points> = { readonly [Name in keyof Points]: Phase<Input, Points, Name> };

/** What an attempt left at a recovery point. */
export interface Left<State, Request> {
  readonly state: State;
  readonly request: Request;
  /** The frozen request may have reached the other system. */
  readonly maybeSent: boolean;
}

/**
 * Where an operation goes on once its client has gone for good, in place of the phase at that recovery point; where
 * nothing is named it is finished. A call that may have been made is still to be settled: the point that is named then
 * has a call with the same step, and so the same derived key.
 */
export type WhenAbandoned<Points> = {
  readonly [Name in keyof Points]?: Points[Name] extends Point<infer State, infer Request>
    ? (left: Left<State, Request>) => Exclude<Next<Points>, Reply>
    : never;
};

export interface Operation<Input = unknown, Points = unknown> {
  /** Stable: stored on the key's row, so that any later process finds the code again. */
  readonly name: string;
  readonly phases: Phases<Input, Points>;
  readonly whenAbandoned: WhenAbandoned<Points>;
}

/** Any operation, for the runner: what it reads from a row is what it passes on. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the types meet again in the phases
export type AnyOperation = Operation<any, any>;

export function operation<Input, Points extends PointMap<Points> & { started: Point<undefined> }>(
  name: string,
  phases: Phases<Input, Points>,
  whenAbandoned: WhenAbandoned<Points> = {},
): Operation<Input, Points> {
  return { name, phases, whenAbandoned };
}

export function atomicPhase<Input, State, Points>(
  run: AtomicPhase<Input, State, Points>['run'],
): AtomicPhase<Input, State, Points> {
  return { kind: 'atomic', run };
}

export function foreignCall<Input, State, Request, Outcome extends { status: string }, Points>(
  call: Omit<ForeignCall<Input, State, Request, Outcome, Points>, 'kind' | 'keyed' | 'find'> &
    (
      | { readonly find: (request: Request) => Promise<Outcome> }
      | { readonly keyed: false; readonly find?: (request: Request) => Promise<Outcome> }
    ),
): ForeignCall<Input, State, Request, Outcome, Points> {
  return { kind: 'foreign', ...call };
}

export function recoveryPoint<Name extends string, State>(
  name: Name,
  state: State,
): RecoveryPoint<Name, State, undefined>;
export function recoveryPoint<Name extends string, State, Request>(
  name: Name,
  state: State,
  request: Request,
): RecoveryPoint<Name, State, Request>;
export function recoveryPoint(name: string, state: unknown, request?: unknown): unknown {
  return new RecoveryPoint(name, state, request);
}

/**
 * The headers that are part of a reply, and so of every replay. What belongs to one exchange only (dates, request
 * ids, cookies, lengths, encodings, rate limits) is none of them.
 */
const STORED_HEADERS = ['Content-Type', 'Location', 'ETag', 'Should-Retry', 'Cache-Control', 'Link'] as const;

export type StoredHeaders = Readonly<Partial<Record<(typeof STORED_HEADERS)[number], string>>>;

/** Ends the operation: `body` is serialised once, here, and these bytes are what is stored and sent. */
export function reply(status: number, body: unknown, headers: StoredHeaders = {}): Reply {
  return new Reply(status, { 'Content-Type': 'application/json; charset=utf-8', ...headers }, bytes(body));
}

/** Ends the operation with a final error: stored and replayed like any other reply. */
export function refusal(problem: Problem): Reply {
  const headers = Object.entries(problem.headers).filter(([name]) =>
    STORED_HEADERS.some((each) => each === name),
  );
  return new Reply(problem.details.status, Object.fromEntries(headers), bytes(problem));
}

function bytes(body: unknown): Buffer {
  return Buffer.from(JSON.stringify(body));
}
