import { fork, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** What runs as a process of its own. */
export interface Service {
  readonly name: string;
  /** The compiled module, relative to this one. */
  readonly entry: string;
  readonly env: NodeJS.ProcessEnv;
  /** Answers 2xx once the process can do its work. */
  readonly readyUrl: string;
}

export interface Reporter {
  /** A line that a child printed. */
  log(service: string, line: string, stream: 'stdout' | 'stderr'): void;
  /** What the supervisor has to say. */
  note(text: string): void;
}

/** A process that does not become ready within this time will not. */
const READY_WITHIN_MS = 20_000;

/** Requests in flight may finish (4 s at most in the sandbox, and 5 s to leave); what is left then is killed. */
const STOP_WITHIN_MS = 12_000;

/** A process that lived this long was well: its next crash is its first. */
const WELL_AFTER_MS = 5_000;

/** The first restart is immediate, as breaking things is what the sandbox is for; a crash loop slows down to this. */
const LONGEST_PAUSE_MS = 5_000;

/**
 * One process, started again whenever it ends without being told to. It has an IPC channel and ends when that
 * closes, so that none survives a supervisor that was killed.
 */
export class SupervisedProcess {
  /** Tells of ends that nobody asked for. */
  readonly life = new EventEmitter<{ ended: [cause: string]; back: [] }>();
  private child?: ChildProcess;
  private readyAt = 0;
  private crashes = 0;
  private readonly stopped = new AbortController();

  constructor(
    private readonly service: Service,
    private readonly reporter: Reporter,
  ) {}

  /** Settles once the process is ready. @throws when it ends first, with its last words */
  async start(): Promise<void> {
    this.stopped.signal.throwIfAborted();
    const child = this.spawn();
    const lastWords = this.listen(child);
    const exit = once(child, 'exit') as Promise<[code: number | null, signal: string | null]>;
    const failure = exit.then(([code, signal]) => {
      throw new Error(
        `The ${this.service.name} ended with ${signal ?? code} before it was ready: ${lastWords()}`,
      );
    });
    const gone = new AbortController();
    child.once('exit', () => gone.abort());
    await Promise.race([failure, this.answers(gone.signal)]);
    this.readyAt = Date.now();
    void exit.then(([code, signal]) => this.recover(signal ?? `exit code ${code}`));
  }

  /** Lets the process finish what it is doing and starts it anew. */
  async reload(): Promise<void> {
    await this.end();
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    await this.end();
  }

  kill(): void {
    this.stopped.abort();
    this.child?.kill('SIGKILL');
  }

  private spawn(): ChildProcess {
    this.child = fork(fileURLToPath(new URL(this.service.entry, import.meta.url)), {
      env: this.service.env,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      execArgv: [],
      detached: process.platform !== 'win32', // out of reach of the terminal's Ctrl-C: the supervisor stops it in its turn
    });
    return this.child;
  }

  /** Hands on what the process prints, and gives a way to its last words. */
  private listen(child: ChildProcess): () => string {
    const words: string[] = [];
    for (const stream of ['stdout', 'stderr'] as const) {
      createInterface({ input: child[stream]! }).on('line', (line) => {
        if (words.push(line.trim()) > 8) words.shift();
        this.reporter.log(this.service.name, line, stream);
      });
    }
    return () => words.join(' ') || 'it said nothing';
  }

  private async answers(gone: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([gone, this.stopped.signal, AbortSignal.timeout(READY_WITHIN_MS)]);
    const isReady = () =>
      fetch(this.service.readyUrl, { signal }).then(
        (response) => response.ok,
        () => false,
      );
    while (!(await isReady())) {
      if (signal.aborted)
        throw new Error(`The ${this.service.name} is not ready after ${READY_WITHIN_MS / 1000} s`);
      await sleep(50);
    }
  }

  private async recover(cause: string): Promise<void> {
    const since = Date.now();
    if (!this.stopped.signal.aborted) this.life.emit('ended', cause);
    this.crashes = since - this.readyAt > WELL_AFTER_MS ? 0 : this.crashes;
    while (!this.stopped.signal.aborted) {
      this.reporter.note(`${this.service.name} ended (${cause}): starting it again`);
      try {
        await sleep(this.pause(), undefined, { signal: this.stopped.signal });
        await this.start();
        this.reporter.note(
          `${this.service.name} is back after ${((Date.now() - since) / 1000).toFixed(1)} s`,
        );
        this.life.emit('back');
        return;
      } catch (error) {
        cause = (error as Error).message;
        this.child?.kill('SIGKILL');
      }
    }
  }

  private pause(): number {
    const doublings = this.crashes++;
    return doublings === 0 ? 0 : Math.min(LONGEST_PAUSE_MS, 125 * 2 ** doublings);
  }

  private async end(): Promise<void> {
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
    await exit;
    clearTimeout(timer);
  }
}
