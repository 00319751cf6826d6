import type { KeyView } from './events.js';
import type { Row, Version } from './history.js';

/** What a new version of a key's row means. */
export type KeyStep =
  'claim' | 'takeover' | 'advance' | 'finish' | 'review' | 'release' | 'renew' | 'reaped' | 'other';

export function stepOf({ before, after }: Pick<Version, 'before' | 'after'>): KeyStep {
  if (!after) return 'reaped';
  const changed = (column: string) => before?.[column] !== after[column];
  if (!before || changed('id')) return 'claim';
  if (changed('owner')) return 'takeover';
  if (changed('status')) return after['status'] === 'finished' ? 'finish' : 'review';
  if (changed('recovery_point')) return 'advance';
  if (changed('version')) return 'release';
  return changed('locked_until') ? 'renew' : 'other';
}

/** A key of the run, and what is known of its owners: the row has a token only, a person wants to tell them apart. */
export class WatchedKey {
  /** Durable id of the execution; derived keys are made from it. */
  id = '';
  /** Which process the present owner, or the last one, is a part of. */
  process = 'api';
  row: Row | undefined;
  /** The end of the lease that the page has been told of. */
  announcedLease: number | undefined;
  private readonly owners: string[] = [];

  constructor(
    readonly label: string,
    readonly tenant: string,
    readonly key: string,
  ) {}

  take({ after, process }: Version, step: KeyStep): void {
    this.row = after ?? undefined;
    if (!after) return;
    this.id = after['id'] as string;
    const owner = after['owner'] as string;
    if (step === 'claim' || step === 'takeover') this.process = process;
    if (!this.owners.includes(owner)) this.owners.push(owner);
  }

  /** 1 for the first, and so on. */
  get owner(): number {
    return this.row ? this.owners.indexOf(this.row['owner'] as string) + 1 : 0;
  }

  /** Milliseconds since 1970. */
  get leaseUntil(): number | undefined {
    const until = this.row?.['locked_until'];
    return this.isInProgress && typeof until === 'string' ? Date.parse(until) : undefined;
  }

  get isInProgress(): boolean {
    return this.row?.['status'] === 'in_progress';
  }

  view(begun: number): KeyView | undefined {
    const { row, leaseUntil } = this;
    if (!row) return undefined;
    const held = leaseUntil !== undefined;
    return {
      label: this.label,
      tenant: this.tenant,
      key: this.key,
      status: row['status'] as string,
      recoveryPoint: row['recovery_point'] as string,
      owner: held ? this.owner : 0,
      heldBy: held ? this.process : null,
      version: row['version'] as number,
      attempts: row['attempts'] as number,
      leaseUntil: held ? leaseUntil - begun : null,
      derivedKey: row['request_derived_key'] as string | null,
      inDoubt: row['in_doubt'] as boolean,
      replyStatus: row['reply_status'] as number | null,
      lastError: row['last_error'] as string | null,
    };
  }
}
