import { randomUUID } from 'node:crypto';
import { ActRun, type Instruments } from './act-run.js';
import type { Happening, Message, Tally } from './events.js';
import type { Scenario } from './scenario.js';

/** How many runs can still be looked at. */
const KEPT = 10;

type Listener = (message: Message) => void;

/** A scenario while it runs, and what was told of it afterwards: whoever comes late hears it from the beginning. */
export class ScenarioRun {
  readonly id = randomUUID().slice(0, 8);
  readonly begun = Date.now();
  private readonly messages: Message[] = [];
  private readonly listeners = new Set<Listener>();
  private act: ActRun | undefined;
  private ended = false;

  constructor(
    readonly scenario: Scenario,
    private readonly instruments: Instruments,
  ) {}

  get isOver(): boolean {
    return this.ended;
  }

  async play(): Promise<void> {
    try {
      for (const [index] of this.scenario.acts.entries()) await this.playAct(index);
      this.tell({ type: 'end', error: null });
    } catch (error) {
      this.tell({ type: 'end', error: `The run broke off: ${(error as Error).message}` });
    } finally {
      this.ended = true;
    }
  }

  /** What the supervisor has seen of its processes. */
  observe(happening: Happening): void {
    this.act?.observe(happening);
  }

  /** @returns how to stop listening */
  listen(listener: Listener): () => void {
    for (const message of this.messages) listener(message);
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private async playAct(index: number): Promise<void> {
    const act = this.scenario.acts[index]!;
    this.tell({ type: 'act', act: index, title: act.title ?? null, ms: this.sinceBegun(Date.now()) });
    const publish = ({ at, ...happening }: Happening, tally: Tally) =>
      this.tell({ type: 'happening', ms: this.sinceBegun(at), tally, ...happening });
    this.act = new ActRun(act, index, `${this.id}-${index}`, this.begun, this.instruments, publish);
    const verdict = await this.act.play();
    this.tell({ type: 'verdict', ms: this.sinceBegun(Date.now()), ...verdict });
  }

  private sinceBegun(at: number): number {
    return Math.max(0, Math.round(at - this.begun));
  }

  private tell(message: Message): void {
    this.messages.push(message);
    for (const listener of this.listeners) listener(message);
  }
}

/** One run at a time: two would break the same service, and neither would know which did what. */
export class Runs {
  private readonly runs: ScenarioRun[] = [];

  constructor(private readonly instruments: Instruments) {}

  get current(): ScenarioRun | undefined {
    const last = this.runs.at(-1);
    return last?.isOver === false ? last : undefined;
  }

  find(id: string): ScenarioRun | undefined {
    return this.runs.find((run) => run.id === id);
  }

  /** @returns undefined while another run is on */
  begin(scenario: Scenario): ScenarioRun | undefined {
    if (this.current) return undefined;
    const run = new ScenarioRun(scenario, this.instruments);
    this.runs.push(run);
    if (this.runs.length > KEPT) this.runs.shift();
    void run.play();
    return run;
  }
}
