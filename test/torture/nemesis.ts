import { setTimeout as sleep } from 'node:timers/promises';
import type { Dice } from './dice.js';
import { LEASE_SECONDS, type Stage } from './stage.js';

/** How often each thing is done, relative to the others. */
const WEIGHTS = {
  kill_api: 6,
  kill_worker: 6,
  restart_postgres: 4,
  pause_api: 5,
  pause_worker: 4,
  cut_connections: 8,
  half_open: 4,
  lose_commit_answer: 10,
  lose_commit: 5,
  provider: 26,
  smtp: 10,
  webhook: 10,
};

type Deed = keyof typeof WEIGHTS;

const PROVIDER = [
  'delay',
  'decline',
  'error_before',
  'error_after',
  'drop_before',
  'drop_after',
  'conflict',
  'rate_limit',
  'down',
  'search_down',
] as const;
const WEBHOOK = ['webhook_delay', 'webhook_duplicate', 'webhook_reorder', 'webhook_drop'] as const;
const SMTP = ['reject', 'defer', 'delay', 'drop'] as const;

/** Breaks one thing after the other, some at the same time, until it is told to stop. */
export class Nemesis {
  readonly counts = new Map<string, number>();
  private readonly underWay = new Set<Promise<unknown>>();

  constructor(
    private readonly stage: Stage,
    private readonly dice: Dice,
  ) {}

  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const work = this.deed(this.dice.weighed(WEIGHTS)).catch(() => this.count('deeds that failed'));
      this.underWay.add(work);
      void work.finally(() => this.underWay.delete(work));
      await sleep(this.dice.between(200, 1_000));
    }
    await Promise.all(this.underWay);
  }

  private async deed(deed: Deed): Promise<void> {
    const { stage, dice } = this;
    switch (deed) {
      case 'kill_api':
        return this.done(deed, dice.oneOf(stage.apis).kill());
      case 'kill_worker':
        return this.done(deed, dice.oneOf(stage.workers).kill());
      case 'restart_postgres':
        return this.restartPostgres();
      case 'pause_api':
      case 'pause_worker': {
        this.count(deed);
        const beyond = LEASE_SECONDS * 1_000 + dice.between(200, 2_000);
        return dice.oneOf(deed === 'pause_api' ? stage.apis : stage.workers).pause(beyond);
      }
      case 'cut_connections':
        return this.done(
          deed,
          stage.proxy.cut(() => dice.happens(0.4)),
        );
      case 'half_open':
        return this.done(
          deed,
          stage.proxy.freeze(() => dice.happens(0.1)),
        );
      case 'lose_commit_answer':
      case 'lose_commit':
        return this.done(deed, stage.proxy.breakCommits(deed, dice.between(1, 4)));
      case 'provider':
        return this.provider(dice.oneOf(PROVIDER));
      case 'webhook':
        return this.provider(dice.oneOf(WEBHOOK));
      case 'smtp': {
        const kind = dice.oneOf(SMTP);
        this.count(`smtp ${kind}`);
        return stage.mailbox.fault({ kind, times: dice.between(1, 4), delayMs: dice.between(100, 3_000) });
      }
    }
  }

  private async provider(kind: (typeof PROVIDER)[number] | (typeof WEBHOOK)[number]): Promise<void> {
    this.count(`provider ${kind}`);
    await this.stage.provider.fault(kind, {
      times: this.dice.between(1, kind === 'down' ? 8 : 3),
      delayMs: kind.endsWith('delay') ? this.dice.between(300, 2_500) : 0,
    });
  }

  private restarting = false;

  private async restartPostgres(): Promise<void> {
    if (this.restarting) return;
    this.restarting = true;
    this.count('restart_postgres');
    await this.stage.database.crash().finally(() => (this.restarting = false));
  }

  private done(deed: Deed, _what: unknown): void {
    this.count(deed);
  }

  private count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}
