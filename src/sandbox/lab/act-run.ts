import { setTimeout as sleep } from 'node:timers/promises';
import type { Mail } from '../mailbox/mail.js';
import { Cast } from './cast.js';
import { Client } from './client.js';
import { hoursPass, leaves } from './client-story.js';
import type { Happening, Tally, Verdict } from './events.js';
import type { History, Version } from './history.js';
import type { MailboxControl } from './mailbox-control.js';
import type { ProviderControl } from './provider-control.js';
import type { Act } from './scenario.js';
import { Shopper } from './shopper.js';
import { Story, type Observation } from './story.js';
import { Timeline } from './timeline.js';
import { judge } from './verdict.js';

/** What the lab can see and break. */
export interface Instruments {
  readonly api: string;
  readonly history: History;
  readonly provider: ProviderControl;
  readonly mailbox: MailboxControl;
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
  private readonly tag: string;
  private readonly cast: Cast;
  private readonly story: Story;
  private readonly timeline = new Timeline<Observation>();
  private readonly over = new AbortController();
  private readonly receipts = new Set<string>();
  private readonly mailsBefore = new Set<string>();
  private charges = { effects: 0, calls: 0 };
  private lastHeard = Date.now();

  constructor(
    private readonly act: Act,
    private readonly number: number,
    tag: string,
    private readonly begun: number,
    private readonly instruments: Instruments,
    private readonly publish: (happening: Happening, tally: Tally) => void,
  ) {
    this.tag = `${tag}-${number}`;
    this.cast = new Cast(this.tag);
    this.story = new Story(this.cast, begun);
  }

  /** Something that somebody else saw: the supervisor. */
  observe(happening: Happening): void {
    this.timeline.add({ saw: 'happening', at: happening.at, happening });
  }

  async play(): Promise<Verdict> {
    const { history, provider, mailbox, ready } = this.instruments;
    await ready();
    await Promise.all([history.begin(), provider.arrange(this.act.recipe), mailbox.arrange(this.act.recipe)]);
    await provider.news(); // what was before
    for (const { messageId } of await mailbox.messages()) this.mailsBefore.add(messageId);
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
    const client = new Client(this.instruments.api, this.tag, this.cast, (happening) =>
      this.observe(happening),
    );
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
    return !open && this.timeline.isEmpty && Date.now() - this.lastHeard > QUIET_MS;
  }

  private async look(): Promise<void> {
    const now = Date.now();
    await Promise.all([this.lookAtDatabase(), this.lookAtProvider(), this.lookAtMails()]);
    for (const observation of this.timeline.release(now)) {
      const told = this.story.tell(observation);
      if (observation.saw === 'traffic' && observation.traffic.kind === 'answered' && told.length > 0)
        await this.countCharges();
      if (observation.saw === 'mail') this.receipts.add(observation.mail.messageId);
      this.tell(told);
    }
    this.tell(this.story.leasesOver(this.timeline.horizon(now)));
  }

  private tell(happenings: readonly Happening[]): void {
    for (const happening of happenings) {
      this.lastHeard = Date.now();
      this.publish({ ...happening, at: Math.max(happening.at, this.begun) }, this.tally());
    }
  }

  private async lookAtDatabase(): Promise<void> {
    const { history } = this.instruments;
    const versions = await history.news().catch(() => []); // a database that is away for a moment tells it later
    const refusal = await history.refusal().catch(() => undefined);
    for (const together of transactions(versions))
      this.timeline.add({ saw: 'commit', at: together.at(-1)!.at, versions: together });
    if (refusal !== undefined) this.timeline.add({ saw: 'refusal', at: refusal });
  }

  private async lookAtProvider(): Promise<void> {
    const news = await this.instruments.provider.news().catch(() => []);
    for (const traffic of news) this.timeline.add({ saw: 'traffic', at: traffic.at, traffic });
  }

  private async lookAtMails(): Promise<void> {
    if (this.cast.orders.size === 0) return;
    const mails = await this.instruments.mailbox.messages().catch(() => []);
    const fresh = mails.filter((mail) => !this.mailsBefore.has(mail.messageId) && this.isOurs(mail));
    for (const mail of fresh) {
      this.mailsBefore.add(mail.messageId);
      this.timeline.add({ saw: 'mail', at: Date.parse(mail.receivedAt), mail });
    }
  }

  private isOurs({ messageId }: Mail): boolean {
    return [...this.cast.orders.keys()].some((id) => messageId.includes(id));
  }

  private async countCharges(): Promise<void> {
    const all = await this.instruments.provider.charges();
    const ours = all.filter(({ metadata }) => this.cast.orders.has(metadata['order_id'] ?? ''));
    this.charges = {
      effects: ours.filter(({ status }) => status === 'succeeded').length,
      calls: ours.reduce((sum, { calls }) => sum + calls, 0),
    };
  }

  private tally(): Tally {
    return {
      orders: this.cast.orders.size,
      charges: this.charges.effects,
      receipts: this.receipts.size,
      calls: this.charges.calls,
    };
  }
}

/** Versions of one transaction become visible at once, whatever was written in between. */
function transactions(versions: readonly Version[]): Version[][] {
  const groups = new Map<string, Version[]>();
  for (const version of versions) groups.set(version.tx, [...(groups.get(version.tx) ?? []), version]);
  return [...groups.values()];
}
