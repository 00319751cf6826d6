import type { Measured } from './measure.js';
import type { Row } from './outcome.js';

const COLUMNS: readonly [heading: string, of: (row: Measured) => string][] = [
  ['what', ({ name }) => name],
  ['conns', ({ connections }) => String(connections)],
  ['per second', ({ perSecond }) => perSecond.toFixed(0)],
  ['p50 ms', ({ p50 }) => p50.toFixed(0)],
  ['p99 ms', ({ p99 }) => p99.toFixed(0)],
  ['wrong', ({ wrong }) => String(wrong)],
  ['commits', ({ writes }) => writes.toFixed(2)],
  ['WAL bytes', ({ walBytes }) => walBytes.toFixed(0)],
  ['fsyncs', ({ fsyncs }) => fsyncs.toFixed(2)],
  ['cores: program', ({ cpu }) => cpu.program.toFixed(2)],
  ['postgres', ({ cpu }) => cpu.postgres.toFixed(2)],
  ['provider', ({ cpu }) => cpu.provider.toFixed(2)],
  ['load', ({ cpu }) => cpu.load.toFixed(2)],
  ['MB', ({ residentMb }) => String(residentMb)],
];

/** A table in Markdown. */
export function table(rows: readonly Measured[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(COLUMNS.map(([heading]) => heading)),
    line(COLUMNS.map(() => '---')),
    ...rows.map((row) => line(COLUMNS.map(([, of]) => of(row)))),
  ].join('\n');
}

/** What is told of a window where it is not the cores that matter. */
export function figuresOf({ name, perSecond, p50, p99, longest, writes, walBytes }: Measured): Row {
  return {
    name,
    'per second': perSecond,
    'p50 ms': p50,
    'p99 ms': p99,
    'longest ms': longest,
    commits: writes,
    'WAL bytes': walBytes,
  };
}

/** @returns one sentence for each window with answers other than the one expected */
export function wrongAnswers(windows: readonly Measured[]): string[] {
  return windows
    .filter(({ wrong }) => wrong > 0)
    .map(({ name, wrong }) => `${name}: ${wrong} answers were wrong`);
}

/** What the figures are for: one beside the other, from the same run. */
export function ratios(rows: readonly Measured[]): Record<string, number> {
  const ratio = (connections: number, one: string, other: string, of: (row: Measured) => number) => {
    const find = (name: string) => rows.find((row) => row.name === name && row.connections === connections);
    const [upper, lower] = [find(one), find(other)];
    return upper && lower ? of(upper) / of(lower) : Number.NaN;
  };
  const speed = ({ perSecond }: Measured) => perSecond;
  const entries = [...new Set(rows.map(({ connections }) => connections))].flatMap((connections) => [
    [`checkout / floor, ${connections} connections`, ratio(connections, 'checkout', 'floor checkout', speed)],
    [`checkout / naive, ${connections} connections`, ratio(connections, 'checkout', 'naive checkout', speed)],
    [
      `secured checkout / checkout, ${connections} connections`,
      ratio(connections, 'secured checkout', 'checkout', speed),
    ],
    [
      `p99 checkout / floor, ${connections} connections`,
      ratio(connections, 'checkout', 'floor checkout', ({ p99 }) => p99),
    ],
    [`replay / bare read, ${connections} connections`, ratio(connections, 'replay', 'bare read', speed)],
  ]);
  return Object.fromEntries(entries) as Record<string, number>;
}
