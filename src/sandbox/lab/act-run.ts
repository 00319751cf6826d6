import { setTimeout as sleep } from 'node:timers/promises';
import { Cast } from './cast.js';
import { Client } from './client.js';
import { hoursPass, leaves } from './client-story.js';
import type { Happening, Tally, Verdict } from './events.js';
import { Observers, type Sources } from './observers.js';
import type { Act } from './scenario.js';
import { Shopper } from './shopper.js';
import { Story, type Observation } from './story.js';
import { judge } from './verdict.js';

/** What the lab can see and break. */
export interface Instruments extends Sources {
  readonly api: string;
  /** Settles once the service answers. @throws where it does not */
  readonly ready: () => Promise<void>;
}

const LOOK_EVERY_MS = 60;

/** The service keeps keys for 72 hours unless it is told otherwise. */
const EXPIRED_HOURS = 73;

/** Nothing more comes once nothing has come for this long: a webhook, a second mail. */
const QUIET_MS = 900;

/** What is not settled by then is left to the worker, and the verdict says so. */
const AT_MOST_MS = 27_000;

/** One act: a client, the eyes on every part of the service, and what comes of it. */
export class ActRun {
  private readonly cast: Cast;
  private readonly story: Story;
  private readonly observers: Observers;
  private readonly over = new AbortController();
  private readonly receipts = new Set<string>();
  private charges = { effects: 0, calls: 0 };
  private lastHeard = Date.now();

  constructor(
    private readonly act: Act,
    private readonly number: number,
    /** Marks the act's orders as its own. */
    private readonly tag: string,
    private readonly begun: number,
    private readonly instruments: Instruments,
    private readonly publish: (happening: Happening, tally: Tally) => void,
  ) {
    this.cast = new Cast(tag);
    this.story = new Story(this.cast, begun);
    this.observers = new Observers(instruments, this.cast);
  }

  /** Something that somebody else saw: the supervisor. */
  observe(happening: Happening): void {
    this.observers.tell(happening);
  }

  async play(): Promise<Verdict> {
    const { history, provider, mailbox, ready } = this.instruments;
    await ready();
    await Promise.all([provider.arrange(this.act.recipe), mailbox.arrange(this.act.recipe)]);
    await this.observers.begin();
    try {
      const settled = await this.watch();
      return judge(this.act, this.number, this.tally(), settled);
    } finally {
      this.over.abort();
      await Promise.all([history.end(), provider.clear(), mailbox.clear()]);
    }
  }

  /** @returns whether everything came to its end in time */
  private async watch(): Promise<boolean> {
    const client = new Client(this.instruments.api, this.tag, this.cast, (told) => this.observe(told));
    let shopping = true;
    let failure: unknown;
    this.shopperWith(client)
      .shop()
      .catch((error: unknown) => (failure = this.over.signal.aborted ? undefined : error))
      .finally(() => (shopping = false));
    const until = Date.now() + AT_MOST_MS;
    while (Date.now() < until) {
      await this.look();
      if (failure !== undefined) throw failure as Error;
      if (!shopping && !client.isWaiting && this.isSettled()) return true;
      await sleep(LOOK_EVERY_MS);
    }
    return false;
  }

  private shopperWith(client: Client): Shopper {
    return new Shopper(this.act.recipe, {
      client,
      letExpire: async (tenant, key) => {
        await this.instruments.history.age(tenant, key, EXPIRED_HOURS);
        this.observe(hoursPass(EXPIRED_HOURS));
      },
      left: () => this.observe(leaves()),
      signal: this.over.signal,
    });
  }

  private isSettled(): boolean {
    const { keys, pending } = this.cast;
    const open = keys.some((key) => key.isInProgress) || pending.size > 0;
    return !open && this.observers.isIdle && Date.now() - this.lastHeard > QUIET_MS;
  }

  private async look(): Promise<void> {
    const { seen, horizon } = await this.observers.look();
    for (const observation of seen) {
      const told = this.story.tell(observation);
      if (told.length > 0) await this.count(observation);
      this.tell(told);
    }
    this.tell(this.story.leasesOver(horizon));
  }

  private tell(happenings: readonly Happening[]): void {
    for (const happening of happenings) {
      this.lastHeard = Date.now();
      this.publish({ ...happening, at: Math.max(happening.at, this.begun) }, this.tally());
    }
  }

  private async count(observation: Observation): Promise<void> {
    if (observation.saw === 'mail') this.receipts.add(observation.mail.messageId);
    if (observation.saw === 'traffic' && observation.traffic.kind === 'answered') await this.countCharges();
  }

  /** By the provider's own ledger: what counts is what it did, not what anybody says of it. */
  private async countCharges(): Promise<void> {
    const all = await this.instruments.provider.charges();
    const ours = all.filter(({ metadata }) => this.cast.orders.has(metadata['order_id'] ?? ''));
    this.charges = {
      effects: ours.filter(({ status }) => status === 'succeeded').length,
      calls: ours.reduce((sum, { calls }) => sum + calls, 0),
    };
  }

  private tally(): Tally {
    const { effects, calls } = this.charges;
    return { orders: this.cast.orders.size, charges: effects, receipts: this.receipts.size, calls };
  }
}
