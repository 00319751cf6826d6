import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { wrongBooks } from './books.js';
import { contenders, type Contender } from './contenders.js';
import { measure, median, type Measured } from './measure.js';
import { ratios, table } from './report.js';
import { roundTrips } from './round-trips.js';
import { Stage } from './stage.js';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '8' },
    connections: { type: 'string', default: '16,64' },
    /** Only what has this in its name, comma separated. */
    only: { type: 'string', default: '' },
    /** A folder for a .cpuprofile of the service; it slows the service down. */
    profile: { type: 'string' },
    /** Where the figures are written as JSON. */
    json: { type: 'string' },
  },
});

const WARM_UP_SECONDS = 4;

const stage = await Stage.set();
const findings = await run().finally(() => stage.close());
process.exit(findings.length === 0 ? 0 : 1);

/** Each round measures everybody, one after the other: what the machine does to one hour, it does to all of them. */
async function run(): Promise<string[]> {
  const started = await contenders(stage, options.profile);
  const all = started.filter(wanted);
  const counts = options.connections.split(',').map(Number);
  for (const contender of all)
    await measure(stage, contender, { connections: counts[0]!, seconds: WARM_UP_SECONDS });
  for (const { database } of started) await database.sql('VACUUM ANALYZE'); // as autovacuum does within the first minute
  const windows: Measured[] = [];
  for (let round = 1; round <= Number(options.rounds); round++) {
    for (const connections of counts) {
      for (const contender of all) {
        const measured = await measure(stage, contender, { connections, seconds: Number(options.seconds) });
        windows.push(measured);
        console.error(
          `${round}: ${measured.name}, ${connections} connections: ${measured.perSecond.toFixed(0)}/s`,
        );
      }
    }
  }
  const medians = counts.flatMap((connections) => all.map(({ name }) => middle(windows, name, connections)));
  const trips = await roundTrips(stage, all[0]!.database);
  await Promise.all(started.map(({ program }) => program.stop()));
  const findings = [...(await wrongBooks(stage, all)), ...wrongAnswers(windows)];
  await report(medians, trips, findings, windows);
  await Promise.all(
    [...new Set(started.map(({ database }) => database))].map((database) => database.close()),
  );
  return findings;
}

function wanted({ name }: Contender): boolean {
  return options.only.split(',').some((part) => name.includes(part));
}

function middle(windows: readonly Measured[], name: string, connections: number): Measured {
  return median(windows.filter((each) => each.name === name && each.connections === connections));
}

function wrongAnswers(windows: readonly Measured[]): string[] {
  return windows
    .filter(({ wrong }) => wrong > 0)
    .map(({ name, wrong }) => `${name}: ${wrong} answers were wrong`);
}

async function report(
  medians: readonly Measured[],
  trips: number,
  findings: readonly string[],
  windows: readonly Measured[],
): Promise<void> {
  console.log(table(medians));
  const compared = ratios(medians);
  for (const [name, ratio] of Object.entries(compared)) console.log(`${name}: ${ratio.toFixed(2)}`);
  console.log(`round trips to the database in a checkout: ${trips.toFixed(1)}`);
  for (const finding of findings) console.log(`WRONG: ${finding}`);
  if (options.json !== undefined) {
    const figures = { medians, ratios: compared, roundTrips: trips, findings, windows };
    await writeFile(options.json, `${JSON.stringify(figures, null, 2)}\n`);
  }
}
