import { setTimeout as sleep } from 'node:timers/promises';
import { MAIL_FAULTS, type FaultKind as MailFault } from '../../src/sandbox/mailbox/faults.js';
import {
  CALL_FAULTS,
  LOOKUP_FAULTS,
  WEBHOOK_FAULTS,
  type FaultKind,
} from '../../src/sandbox/mock-provider/faults.js';
import { subscribe } from '../support/webhooks.js';
import type { Dice } from './dice.js';
import type { Instance } from './instance.js';
import type { Journal } from './journal.js';
import { LEASE_SECONDS, type Stage } from './stage.js';

/** How often each deed is in a deck; a deck is dealt to its end before the next, so that nothing is left to luck. */
const DECK = {
  kill_api: 3,
  kill_worker: 3,
  restart_postgres: 1,
  pause_api: 2,
  pause_worker: 2,
  cut_connections: 2,
  half_open: 2,
  lose_commit_answer: 3,
  lose_commit: 2,
  garble_commit_answer: 2,
  cut_provider: 6,
  kill_mailbox: 2,
};

type Deed = () => Promise<unknown> | void;

/** Breaks one thing after the other, some at the same time, until it is told to stop. */
export class Nemesis {
  private readonly underWay = new Set<Promise<unknown>>();
  private providerIsCut = false;
  private readonly deck: readonly Deed[];

  constructor(
    private readonly stage: Stage,
    private readonly journal: Journal,
    private readonly dice: Dice,
  ) {
    const deeds = Object.entries(DECK) as [keyof typeof DECK, number][];
    this.deck = [
      ...deeds.flatMap(([deed, times]) => Array<Deed>(times).fill(() => this.do(deed))),
      ...[...CALL_FAULTS, ...LOOKUP_FAULTS, ...WEBHOOK_FAULTS].map((kind) => () => this.breakProvider(kind)),
      ...MAIL_FAULTS.map((kind) => () => this.breakMail(kind)),
    ];
  }

  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      for (const deed of this.dice.shuffled(this.deck)) {
        if (stop.aborted) break;
        this.begin(deed);
        this.begin(() => this.moveWebhooks());
        await this.letThemWork(stop);
      }
    }
    await Promise.all(this.underWay);
  }

  /** A machine that is slow to bring back what was broken has nothing to break yet. */
  private async letThemWork(stop: AbortSignal): Promise<void> {
    const enough = this.journal.answered + 4;
    await sleep(this.dice.between(200, 800));
    for (let waits = 0; waits < 50 && !stop.aborted && this.journal.answered < enough; waits++)
      await sleep(100);
  }

  /** What breaks has many reasons not to obey; what was met is counted where it was met. */
  private begin(deed: Deed): void {
    const work = Promise.resolve()
      .then(deed)
      .catch(() => undefined);
    this.underWay.add(work);
    void work.finally(() => this.underWay.delete(work));
  }

  private do(deed: keyof typeof DECK): Promise<unknown> | void {
    const { stage, dice } = this;
    switch (deed) {
      case 'kill_api':
        return this.killOneOf(stage.apis);
      case 'kill_worker':
        return this.killOneOf(stage.workers);
      case 'restart_postgres':
        return stage.database.crash();
      case 'pause_api':
        return dice.oneOf(stage.apis).pause(LEASE_SECONDS * 1_000 + dice.between(200, 1_000));
      case 'pause_worker':
        return dice.oneOf(stage.workers).pause(LEASE_SECONDS * 1_000 + dice.between(200, 2_000));
      case 'cut_connections':
        return stage.proxy.cut(() => dice.happens(0.4));
      case 'half_open':
        return stage.proxy.freeze(() => dice.happens(0.1));
      case 'lose_commit_answer':
      case 'lose_commit':
      case 'garble_commit_answer':
        return stage.proxy.breakCommits(deed, dice.between(1, 4));
      case 'cut_provider':
        return this.cutProvider();
      case 'kill_mailbox':
        return stage.mailbox.kill();
    }
  }

  private killOneOf(instances: readonly Instance[]): void {
    const serving = instances.filter(({ isServing }) => isServing);
    if (serving.length > 0) this.dice.oneOf(serving).kill();
  }

  private breakProvider(kind: FaultKind): Promise<void> {
    return this.stage.provider.fault(kind, {
      times: this.dice.between(1, kind === 'down' ? 8 : 3),
      delayMs: kind.endsWith('delay') ? this.dice.between(300, 2_500) : 0,
    });
  }

  private breakMail(kind: MailFault): Promise<void> {
    const times = this.dice.between(1, 4);
    return this.stage.mailbox.fault({ kind, times, delayMs: this.dice.between(100, 3_000) });
  }

  /** As through a load balancer: an event comes to any of the APIs. */
  private moveWebhooks(): Promise<void> {
    return subscribe(this.stage.provider, this.dice.oneOf(this.stage.apis).url);
  }

  /** Nobody reaches the provider; its ledger, which is its memory, stays. */
  private async cutProvider(): Promise<void> {
    if (this.providerIsCut) return;
    this.providerIsCut = true;
    await this.stage.providerPath.stop();
    await sleep(this.dice.between(100, 1_500));
    await this.stage.providerPath.start();
    this.providerIsCut = false;
  }
}
