import type { Cast } from './cast.js';
import type { Happening } from './events.js';
import type { History, Version } from './history.js';
import type { MailboxControl } from './mailbox-control.js';
import type { ProviderControl } from './provider-control.js';
import type { Observation } from './story.js';
import { Timeline } from './timeline.js';

/** Where the lab looks, beside what its own client and the supervisor tell. */
export interface Sources {
  readonly history: History;
  readonly provider: ProviderControl;
  readonly mailbox: MailboxControl;
}

/** The eyes of an act: they look at every part again and again, and put what they see into one order. */
export class Observers {
  private readonly timeline = new Timeline<Observation>();
  private readonly mailsSeen = new Set<string>();

  constructor(
    private readonly sources: Sources,
    private readonly cast: Cast,
  ) {}

  /** From here on; what was before is none of the act's. */
  async begin(): Promise<void> {
    const { history, provider, mailbox } = this.sources;
    await Promise.all([history.begin(), provider.news()]);
    for (const { messageId } of await mailbox.messages()) this.mailsSeen.add(messageId);
  }

  /** What somebody saw who was there: the client, the supervisor. */
  tell(happening: Happening): void {
    this.timeline.add({ saw: 'happening', at: happening.at, happening });
  }

  /** Everything that is told and not yet handed on is known to be in order. */
  get isIdle(): boolean {
    return this.timeline.isEmpty;
  }

  /** @returns what is known by now to have happened up to `horizon`, in order */
  async look(): Promise<{ seen: Observation[]; horizon: number }> {
    const now = Date.now();
    await Promise.all([this.lookAtDatabase(), this.lookAtProvider(), this.lookAtMails()]);
    return { seen: this.timeline.release(now), horizon: this.timeline.horizon(now) };
  }

  private async lookAtDatabase(): Promise<void> {
    const { history } = this.sources;
    const versions = await history.news().catch(() => []); // a database that is away for a moment tells it later
    const refusal = await history.refusal().catch(() => undefined);
    for (const together of transactions(versions))
      this.timeline.add({ saw: 'commit', at: together.at(-1)!.at, versions: together });
    if (refusal !== undefined) this.timeline.add({ saw: 'refusal', at: refusal });
  }

  private async lookAtProvider(): Promise<void> {
    const news = await this.sources.provider.news().catch(() => []);
    for (const traffic of news) this.timeline.add({ saw: 'traffic', at: traffic.at, traffic });
  }

  private async lookAtMails(): Promise<void> {
    if (this.cast.orders.size === 0) return;
    const mails = await this.sources.mailbox.messages().catch(() => []);
    for (const mail of mails) {
      if (this.mailsSeen.has(mail.messageId) || !this.cast.isReceipt(mail.messageId)) continue;
      this.mailsSeen.add(mail.messageId);
      this.timeline.add({ saw: 'mail', at: Date.parse(mail.receivedAt), mail });
    }
  }
}

/** Versions of one transaction become visible at once, whatever was written in between. */
function transactions(versions: readonly Version[]): Version[][] {
  const groups = new Map<string, Version[]>();
  for (const version of versions) groups.set(version.tx, [...(groups.get(version.tx) ?? []), version]);
  return [...groups.values()];
}
