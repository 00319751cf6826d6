import type { Mail } from '../mailbox/mail.js';
import type { Seen } from '../mock-provider/traffic.js';
import type { Cast } from './cast.js';
import { tellCommit } from './commit-story.js';
import type { Happening, KeyView } from './events.js';
import type { Version } from './history.js';
import { stepOf, type WatchedKey } from './key-view.js';
import { TrafficStory } from './traffic-story.js';

/** What one source saw at one moment. */
export type Observation = { readonly at: number } & (
  | { readonly saw: 'happening'; readonly happening: Happening }
  | { readonly saw: 'commit'; readonly versions: readonly Version[] }
  | { readonly saw: 'traffic'; readonly traffic: Seen }
  | { readonly saw: 'refusal' }
  | { readonly saw: 'mail'; readonly mail: Mail }
);

/** Makes a story of what was observed, one happening after the other, with the row of the key as it was then. */
export class Story {
  private readonly traffic: TrafficStory;

  /** @param begun milliseconds since 1970 */
  constructor(
    private readonly cast: Cast,
    private readonly begun: number,
  ) {
    this.traffic = new TrafficStory(cast);
  }

  tell(observation: Observation): Happening[] {
    const { at } = observation;
    const told = this.one(observation);
    return [...this.leasesOver(at), ...(told ? [{ ...told, at }] : [])];
  }

  /** Leases that nobody renewed. @param now up to when everything is known */
  leasesOver(now: number): Happening[] {
    const over = this.cast.keys.filter(({ leaseUntil }) => leaseUntil !== undefined && leaseUntil <= now);
    return over
      .filter((key) => key.announcedLease !== key.leaseUntil)
      .map((key) => {
        key.announcedLease = key.leaseUntil!;
        return {
          ...LEASE_OVER,
          at: key.leaseUntil!,
          label: key.label,
          owner: key.owner,
          ...this.viewOf(key),
        };
      });
  }

  private one(observation: Observation): Omit<Happening, 'at'> | undefined {
    switch (observation.saw) {
      case 'happening':
        return observation.happening;
      case 'commit':
        return this.commit(observation.versions);
      case 'traffic':
        return this.traffic.tell(observation.traffic);
      case 'refusal':
        return this.refusal();
      case 'mail':
        return mailed(observation.mail);
    }
  }

  private commit(versions: readonly Version[]): Omit<Happening, 'at'> | undefined {
    const ours = versions.filter((version) => this.cast.includes(version));
    let key: WatchedKey | undefined;
    for (const version of ours) {
      const moved = this.cast.keyOf(version);
      moved?.take(version, stepOf(version));
      key = moved ?? key;
    }
    const told = ours.length > 0 ? tellCommit(ours, key) : undefined;
    return told && { ...told, ...(key && { label: key.label, owner: key.owner, ...this.viewOf(key) }) };
  }

  /** A fenced write that changed no row: of an owner of before, or of a claim that came second. */
  private refusal(): Omit<Happening, 'at'> | undefined {
    const key = this.cast.keys.findLast(({ row }) => row);
    if (!key) return undefined;
    const late = key.owner > 1;
    return {
      kind: 'refused',
      from: 'api',
      to: 'database',
      label: key.label,
      ...(late ? { owner: key.owner - 1 } : {}),
      ...(late ? LATE_OWNER : SECOND_CLAIM),
    };
  }

  private viewOf(key: WatchedKey): { key?: KeyView } {
    const view = key.view(this.begun);
    return view ? { key: view } : {};
  }
}

const LEASE_OVER = {
  kind: 'lease',
  from: 'database',
  title: 'the lease is over',
  text: 'The owner has not renewed its lease. From now on anybody may take the key over.',
  tone: 'wait',
} as const;

const LATE_OWNER = {
  title: 'fence: 0 rows',
  text: 'The old owner writes. But the row names another owner and version now: no row changes, and its transaction is rolled back.',
  tone: 'good',
} as const;

const SECOND_CLAIM = {
  title: 'claim refused: 0 rows',
  text: 'The second request wants the key as well. The row is there already: nothing it wrote is kept.',
  tone: 'good',
} as const;

function mailed({ to, subject }: Mail): Omit<Happening, 'at'> {
  return {
    kind: 'mail',
    from: 'worker',
    to: 'mail',
    title: 'receipt',
    text: `“${subject}” arrives at ${to}.`,
    tone: 'good',
  };
}
