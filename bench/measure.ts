import type { Contender } from './contenders.js';
import { load, type Window } from './load.js';
import { cpuSeconds, familyOf, residentMb } from './process.js';
import type { Counters, Stage } from './stage.js';

/** One window, and what it cost. */
export interface Measured extends Window {
  readonly name: string;
  readonly connections: number;
  /** Per answer. */
  readonly writes: number;
  readonly walBytes: number;
  readonly fsyncs: number;
  /** Cores in use, on average. */
  readonly cpu: Readonly<Record<'program' | 'postgres' | 'provider' | 'load', number>>;
  readonly residentMb: number;
}

export async function measure(
  stage: Stage,
  { name, program, database, request: { path, ...request } }: Contender,
  how: { readonly connections: number; readonly seconds: number },
): Promise<Measured> {
  const cpuNow = () => ({
    program: cpuSeconds(program.pid),
    postgres: familyOf(stage.postgresPid).reduce((sum, pid) => sum + cpuSeconds(pid), 0),
    provider: cpuSeconds(stage.providerPid),
    load: cpuSeconds(process.pid),
  });
  const [before, cpuBefore] = [await database.counters(), cpuNow()];
  const window = await load({ ...request, ...how, url: program.url + path });
  const [cpuAfter, after] = [cpuNow(), await database.counters()];
  const per = (counter: keyof Counters) => (after[counter] - before[counter]) / Math.max(1, window.answered);
  const used = (who: keyof Measured['cpu']) => (cpuAfter[who] - cpuBefore[who]) / how.seconds;
  return {
    name,
    ...window,
    connections: how.connections,
    writes: per('writes'),
    walBytes: per('walBytes'),
    fsyncs: per('fsyncs'),
    cpu: {
      program: used('program'),
      postgres: used('postgres'),
      provider: used('provider'),
      load: used('load'),
    },
    residentMb: residentMb(program.pid),
  };
}

/** The middle one by what was answered per second. */
export function median(windows: readonly Measured[]): Measured {
  const sorted = windows.toSorted((one, other) => one.perSecond - other.perSecond);
  return sorted[Math.floor(sorted.length / 2)]!;
}
