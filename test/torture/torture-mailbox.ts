import type { FaultKind } from '../../src/sandbox/mailbox/faults.js';
import type { Mail } from '../../src/sandbox/mailbox/mail.js';
import { startMailbox, type Mailbox } from '../support/mailbox.js';

/** The mailbox, which may be killed: what it has taken it keeps, what it was told to break it forgets. */
export class TortureMailbox {
  kills = 0;
  private before: Partial<Record<FaultKind, number>> = {};
  private restarting: Promise<void> | undefined;

  private constructor(
    private readonly dataDir: string,
    private mailbox: Mailbox,
  ) {}

  static async start(dataDir: string): Promise<TortureMailbox> {
    return new TortureMailbox(dataDir, await startMailbox({ dataDir }));
  }

  get smtpUrl(): string {
    return this.mailbox.smtpUrl;
  }

  kill(): Promise<void> {
    this.restarting ??= this.restart().finally(() => (this.restarting = undefined));
    return this.restarting;
  }

  /** A fault for a mailbox that is just being killed is lost with it. */
  async fault(fault: Parameters<Mailbox['fault']>[0]): Promise<void> {
    await this.restarting;
    await this.mailbox.fault(fault);
  }

  async clearFaults(): Promise<void> {
    await this.restarting;
    await this.mailbox.clearFaults();
  }

  async messages(): Promise<Mail[]> {
    await this.restarting;
    return this.mailbox.messages();
  }

  async met(): Promise<Record<string, number>> {
    await this.restarting;
    return this.withEarlier(await this.mailbox.met());
  }

  async stop(): Promise<void> {
    await this.restarting;
    await this.mailbox.stop();
  }

  private async restart(): Promise<void> {
    this.before = this.withEarlier(await this.mailbox.met());
    await this.mailbox.stop('SIGKILL');
    this.kills += 1;
    this.mailbox = await startMailbox({ dataDir: this.dataDir, ports: this.mailbox.ports });
  }

  private withEarlier(met: Record<FaultKind, number>): Record<FaultKind, number> {
    const sums = Object.entries(met).map(([kind, count]) => [
      kind,
      count + (this.before[kind as FaultKind] ?? 0),
    ]);
    return Object.fromEntries(sums) as Record<FaultKind, number>;
  }
}
