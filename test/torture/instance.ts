import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Program {
  readonly name: string;
  readonly main: string;
  readonly url: string;
  readonly log: string;
  readonly env: NodeJS.ProcessEnv;
}

/** In milliseconds since 1970. */
export interface Spell {
  readonly from: number;
  readonly to: number;
}

/** An orchestrator needs a moment to see that a process is gone. */
const RESTART_MS = 100;

/** Beyond the deadline of a request and the time to leave. */
const LEAVE_WITHIN_MS = 15_000;

/** One process of the service that is started again whenever it dies, as an orchestrator would. */
export class Instance {
  /** Ends that nobody here brought about: the process gave up by itself. */
  readonly collapses: string[] = [];
  /** Every kill -9, from outside or by a fault point. */
  kills = 0;
  /** Of these, the ones from outside. */
  killed = 0;
  /** When it was stopped and went on. */
  readonly pauses: Spell[] = [];
  private child!: ChildProcess;
  private wanted = true;
  private serving = false;

  constructor(readonly program: Program) {}

  start(): void {
    const { main, env, log } = this.program;
    const output = openSync(log, 'a');
    this.child = spawn(process.execPath, [main], { env, stdio: ['ignore', output, output, 'ipc'] });
    closeSync(output);
    this.child.once('exit', (code, signal) => this.ended(code, signal));
    void this.ready().then(
      () => (this.serving = true),
      (error: Error) => this.wanted && this.collapses.push(error.message),
    );
  }

  get url(): string {
    return this.program.url;
  }

  /** Has come up since it was started last: one that is killed before has no work to lose. */
  get isServing(): boolean {
    return this.serving;
  }

  kill(): void {
    if (this.child.kill('SIGKILL')) this.killed += 1;
  }

  /** Counts where it was not killed meanwhile. */
  async pause(milliseconds: number): Promise<void> {
    const { child } = this;
    const from = Date.now();
    child.kill('SIGSTOP');
    await sleep(milliseconds);
    if (child.kill('SIGCONT')) this.pauses.push({ from, to: Date.now() });
  }

  /** What it has written so far. */
  log(): string {
    return readFileSync(this.program.log, 'utf8');
  }

  async ready(withinMs = 60_000): Promise<void> {
    for (const until = Date.now() + withinMs; Date.now() < until; await sleep(50)) {
      const answer = await fetch(`${this.url}/health/ready`, { signal: AbortSignal.timeout(2_000) }).catch(
        () => undefined,
      );
      if (answer?.ok) return;
    }
    throw new Error(`${this.program.name} did not become ready: ${this.lastWords()}`);
  }

  async stop(): Promise<void> {
    this.wanted = false;
    const { child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGCONT');
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), LEAVE_WITHIN_MS);
    await gone;
    clearTimeout(late);
  }

  private ended(code: number | null, signal: NodeJS.Signals | null): void {
    this.serving = false;
    if (signal === 'SIGKILL') this.kills += 1;
    else if (this.wanted) this.collapses.push(`ended with ${signal ?? code}: ${this.lastWords()}`);
    if (this.wanted) setTimeout(() => this.wanted && this.start(), RESTART_MS);
  }

  private lastWords(): string {
    return this.log().trim().split('\n').slice(-3).join('\n');
  }
}
