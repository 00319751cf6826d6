/** From left to right, as they are drawn. */
export const LANES = ['client', 'api', 'database', 'provider', 'worker', 'mail'] as const;

export type Lane = (typeof LANES)[number];

export type Kind =
  | 'note'
  | 'request'
  | 'reply'
  | 'commit'
  | 'refused'
  | 'call'
  | 'lease'
  | 'death'
  | 'back'
  | 'mail'
  | 'clock';

/** A row of `idempotency_keys` as the page shows it; times in milliseconds since the run began. */
export interface KeyView {
  /** What this run calls the key: A, B, … */
  readonly label: string;
  readonly tenant: string;
  readonly key: string;
  readonly status: string;
  readonly recoveryPoint: string;
  /** 1 for the first owner, 2 for the one that took over; 0 while nobody holds the key. */
  readonly owner: number;
  readonly heldBy: string | null;
  readonly version: number;
  readonly attempts: number;
  readonly leaseUntil: number | null;
  readonly derivedKey: string | null;
  readonly inDoubt: boolean;
  readonly replyStatus: number | null;
  readonly lastError: string | null;
}

/** Something that happened, as it is drawn: an arrow or a mark, a few words on it, and a sentence of what it means. */
export interface Happening {
  /** Milliseconds since 1970, by the clock of this machine. */
  readonly at: number;
  readonly kind: Kind;
  readonly from: Lane;
  readonly to?: Lane;
  readonly title: string;
  readonly text: string;
  readonly tone?: 'good' | 'bad' | 'wait';
  /** It never arrived. */
  readonly broken?: boolean;
  /** Label of the key that it is about. */
  readonly label?: string;
  /** Which owner of the key acted; each has a colour. */
  readonly owner?: number;
  /** What one transaction wrote, line by line; or the derived key of a call. */
  readonly wrote?: readonly string[];
  readonly key?: KeyView;
}

/** How a happening is told. */
export type Words = Pick<Happening, 'title' | 'text' | 'tone'>;

/** What an act has come to so far. */
export interface Tally {
  readonly orders: number;
  readonly charges: number;
  readonly receipts: number;
  /** How often the provider was asked to charge. */
  readonly calls: number;
}

export interface Verdict {
  readonly act: number;
  readonly title: string | null;
  readonly meant: number;
  readonly tally: Tally;
  readonly right: boolean;
  readonly settled: boolean;
  readonly text: string;
}

/** What the page hears of a run, in order. `ms` counts from the beginning of the run. */
export type Message =
  | { readonly type: 'act'; readonly act: number; readonly title: string | null; readonly ms: number }
  | ({ readonly type: 'happening'; readonly ms: number; readonly tally: Tally } & Omit<Happening, 'at'>)
  | ({ readonly type: 'verdict'; readonly ms: number } & Verdict)
  | { readonly type: 'end'; readonly error: string | null };
