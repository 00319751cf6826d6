import { prettyFactory } from 'pino-pretty';
import type { Reporter } from './supervised-process.js';

const WARNING = 40; // pino's number for it

/** Progress goes to stdout. Of what the processes log, warnings and errors are shown; with `verbose` all of it. */
export class Output implements Reporter {
  private readonly pretty = prettyFactory({
    colorize: process.stdout.isTTY,
    ignore: 'pid,hostname',
    singleLine: true,
  });

  constructor(private readonly verbose: boolean) {}

  /** Runs a step and prints it with the time that it took. */
  async step<T>(work: Promise<T>, describe: (result: T) => string): Promise<T> {
    const start = performance.now();
    const result = await work;
    this.note(`${describe(result).padEnd(72)} ${seconds(performance.now() - start)}`);
    return result;
  }

  note(text: string): void {
    console.log(`  ${text}`);
  }

  log(service: string, line: string, stream: 'stdout' | 'stderr'): void {
    const level = levelOf(line) ?? (stream === 'stderr' ? WARNING : 0);
    if (!this.verbose && level < WARNING) return;
    console.log(`  ${service.padEnd(8)} | ${this.pretty(line).trimEnd()}`);
  }
}

export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

function levelOf(line: string): number | undefined {
  return line.startsWith('{') ? Number(/"level":(\d+)/.exec(line)?.[1] ?? 0) : undefined;
}
