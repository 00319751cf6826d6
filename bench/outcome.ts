import { writeFile } from 'node:fs/promises';
import { Stage } from './stage.js';

/** What a program found, under the names that the text and the JSON give it. */
export interface Outcome {
  /** By title; the rows of one have the same columns. */
  readonly tables: Readonly<Record<string, readonly Row[]>>;
  readonly goals: readonly Goal[];
  /** Sentences about what is wrong: any of them makes the figures worthless. */
  readonly findings: readonly string[];
}

export type Row = Readonly<Record<string, string | number>>;

/** A figure and the bound that it should keep. A busy machine may miss one: it is said, and is no failure. */
export interface Goal {
  readonly goal: string;
  readonly figure: number;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** Runs `work` on a stage that is gone afterwards, and ends the process: with 0 if nothing was wrong. */
export async function onStage(
  work: (stage: Stage) => Promise<Outcome>,
  {
    json,
    postgres,
  }: { readonly json: string | undefined; readonly postgres?: Readonly<Record<string, string>> },
): Promise<never> {
  const stage = await Stage.set(postgres);
  const code = await work(stage)
    .then((outcome) => publish(outcome, json))
    .catch((error: unknown) => {
      console.error(error);
      return 1;
    });
  await stage.close();
  process.exit(code);
}

/** Prints it, and writes it as JSON where a file is named. @returns the exit code */
async function publish({ tables, goals, findings }: Outcome, json: string | undefined): Promise<number> {
  for (const [title, rows] of Object.entries(tables)) console.log(`\n${title}\n\n${table(rows)}`);
  if (goals.length > 0) console.log(`\n${table(goals.map(judged))}`);
  for (const finding of findings) console.log(`WRONG: ${finding}`);
  if (json !== undefined)
    await writeFile(json, `${JSON.stringify({ tables, goals: goals.map(judged), findings }, null, 2)}\n`);
  return findings.length === 0 ? 0 : 1;
}

function judged({ goal, figure, atLeast = -Infinity, atMost = Infinity }: Goal): Row {
  const bound = atMost < Infinity ? `at most ${atMost}` : `at least ${atLeast}`;
  return { goal, figure, bound, met: figure >= atLeast && figure <= atMost ? 'yes' : 'NO' };
}

/** In Markdown. */
function table(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {});
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(columns),
    line(columns.map(() => '---')),
    ...rows.map((row) => line(columns.map((column) => shown(row[column])))),
  ].join('\n');
}

function shown(cell: string | number | undefined): string {
  if (typeof cell !== 'number') return cell ?? '';
  return Math.abs(cell) >= 100 || Number.isInteger(cell) ? cell.toFixed(0) : cell.toFixed(2);
}

/** The value below which the part `share` of them lies; 0 of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
