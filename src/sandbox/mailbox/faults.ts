/**
 * How the mailbox can be told to misbehave:
 * - `reject`: refuses the recipient for good (550)
 * - `defer`: refuses the recipient for now (451)
 * - `delay`: takes the mail, and answers after `delayMs`
 * - `drop`: takes and keeps the mail, and cuts the connection before it says so
 */
export interface Fault {
  readonly kind: FaultKind;
  /** How many mails it meets. */
  readonly times: number;
  readonly delayMs: number;
}

export const MAIL_FAULTS = ['reject', 'defer', 'delay', 'drop'] as const;
export type FaultKind = (typeof MAIL_FAULTS)[number];

/** The faults that wait for their mails, first come, first met. */
export class Faults {
  private waiting: Fault[] = [];
  private readonly counts = new Map<FaultKind, number>();

  /** How many mails have met each kind so far, whatever was cleared since. */
  get met(): Record<FaultKind, number> {
    const counts = MAIL_FAULTS.map((kind) => [kind, this.counts.get(kind) ?? 0]);
    return Object.fromEntries(counts) as Record<FaultKind, number>;
  }

  add(fault: Fault): void {
    this.waiting.push(fault);
  }

  clear(): void {
    this.waiting = [];
  }

  /** The fault that the next mail meets, if it is one of `kinds`; counts as met. */
  take(...kinds: FaultKind[]): Fault | undefined {
    const [fault, ...rest] = this.waiting;
    if (!fault || !kinds.includes(fault.kind)) return undefined;
    this.counts.set(fault.kind, this.met[fault.kind] + 1);
    this.waiting = fault.times > 1 ? [{ ...fault, times: fault.times - 1 }, ...rest] : rest;
    return fault;
  }
}

/** Reads `{ kind, times?, delayMs? }`. @throws TypeError with what is wrong, for the client */
export function readFault(body: unknown): Fault {
  const { kind, times = 1, delayMs = 1_000 } = (body ?? {}) as Partial<Record<keyof Fault, unknown>>;
  if (!MAIL_FAULTS.includes(kind as FaultKind))
    throw new TypeError(`kind must be one of ${MAIL_FAULTS.join(', ')}`);
  if (!isCount(times) || times < 1) throw new TypeError('times must be a whole number from 1');
  if (!isCount(delayMs)) throw new TypeError('delayMs must be a whole number from 0');
  return { kind: kind as FaultKind, times, delayMs };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
