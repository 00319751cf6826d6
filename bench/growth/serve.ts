import { freePort } from '../../test/support/free-port.js';
import { measure, type Measured } from '../measure.js';
import { Program } from '../process.js';
import type { Service } from '../service.js';
import type { Stage } from '../stage.js';

export interface Grown extends Service {
  /** Finished checkouts that were loaded. */
  readonly rows: number;
}

/** What the reaper did while checkouts were measured. */
export interface Reaped {
  readonly name: string;
  readonly deletedPerSecond: number;
  readonly checkoutsPerSecond: number;
}

export interface Served {
  readonly windows: readonly Measured[];
  readonly reaped: readonly Reaped[];
}

interface How {
  readonly rounds: number;
  readonly connections: number;
  readonly seconds: number;
}

/** In turn, round after round: what the machine does to one hour, it does to all of them. */
export async function serve(stage: Stage, all: readonly Grown[], how: How): Promise<Served> {
  const [windows, reaped]: [Measured[], Reaped[]] = [[], []];
  for (let round = 1; round <= how.rounds; round++) {
    for (const service of all) {
      windows.push(said(round, await measure(stage, service, how)));
      if (service.rows === 0) continue;
      const both = await serveAndReap(stage, service, how);
      windows.push(said(round, both.window));
      reaped.push(both.reaped);
    }
  }
  return { windows, reaped };
}

export function withReaper(name: string): string {
  return `${name}, reaper at work`;
}

async function serveAndReap(
  stage: Stage,
  service: Grown,
  how: How,
): Promise<{ window: Measured; reaped: Reaped }> {
  const { name, settings } = service;
  const reaper = await Program.start(['bench/programs/reaper.ts'], settings, await freePort());
  const [before, begun] = [await deletedBy(reaper), performance.now()];
  const window = await measure(stage, { ...service, name: withReaper(name) }, how);
  const deleted = (await deletedBy(reaper)) - before;
  const deletedPerSecond = deleted / ((performance.now() - begun) / 1_000);
  await reaper.stop();
  return { window, reaped: { name, deletedPerSecond, checkoutsPerSecond: window.perSecond } };
}

async function deletedBy(reaper: Program): Promise<number> {
  return Number(await (await fetch(reaper.url)).text());
}

function said(round: number, measured: Measured): Measured {
  const { name, perSecond, p99 } = measured;
  console.error(`${round}: ${name}: ${perSecond.toFixed(0)}/s, p99 ${p99.toFixed(0)} ms`);
  return measured;
}
