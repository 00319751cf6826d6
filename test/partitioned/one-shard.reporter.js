import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { ACROSS_TENANTS } from './across-tenants.js';
import { judge } from './one-shard.js';

/** The sessions of the service, by the name that src/database/data-source.ts gives them; tests have others. */
const SERVICE = 'checkout';

/** Fails the run where a statement of the service met more than one shard, and nobody has said why it may. */
export default class OneShardReporter {
  #error;

  constructor(config) {
    this.whole = !config.testPathPatterns.isSet();
  }

  async onRunComplete() {
    const statements = await statementsSent();
    const met = [...statements].filter(([, { tables }]) => tables.size > 0);
    const across = met.filter(([, { reason }]) => reason);
    const known = ACROSS_TENANTS.map((entry) => ({
      ...entry,
      statements: across.filter(([text]) => text.includes(entry.words)),
    }));
    const unknown = across.filter(([text]) => !ACROSS_TENANTS.some(({ words }) => text.includes(words)));
    const stale = this.whole ? known.filter(({ statements }) => statements.length === 0) : [];
    print(met, across, known);
    this.#error = complaint(met, unknown, stale);
    if (this.#error) console.error(`\n${this.#error.message}`); // jest ends with 1, and does not say why
  }

  getLastError() {
    return this.#error;
  }
}

/** By its text: how often it was sent, the tenants' tables it met, and why it was not pinned to one shard, if ever. */
async function statementsSent() {
  const statements = new Map();
  for await (const line of logLines()) {
    const { application_name: sender, message = '' } = JSON.parse(line);
    if (sender !== SERVICE || !/^duration: .* plan:/.test(message)) continue;
    const { 'Query Text': text, Plan: plan } = JSON.parse(message.slice(message.indexOf('{')));
    const { tables, reason } = judge(plan);
    const kept = statements.get(text) ?? { times: 0, tables: new Set(), reason: undefined };
    statements.set(text, {
      times: kept.times + 1,
      tables: new Set([...kept.tables, ...tables]),
      reason: kept.reason ?? reason,
    });
  }
  return statements;
}

async function* logLines() {
  const folder = join(await dataDirectory(), 'statements');
  const files = (await readdir(folder)).filter((name) => name.endsWith('.json'));
  for (const file of files)
    for await (const line of createInterface({ input: createReadStream(join(folder, file)) }))
      if (line.endsWith('}')) yield line; // the last one may still be on its way to the disk
}

async function dataDirectory() {
  const client = new pg.Client(process.env.TEST_ADMIN_URL);
  await client.connect();
  const { rows } = await client.query('SHOW data_directory').finally(() => client.end());
  return rows[0].data_directory;
}

function print(met, across, known) {
  const sent = met.reduce((sum, [, { times }]) => sum + times, 0);
  const lines = known
    .filter(({ statements }) => statements.length > 0)
    .map(({ reason, statements }) => {
      const tables = new Set(statements.flatMap(([, { tables: those }]) => [...those]));
      return `  ${statements.length} on ${[...tables].sort().join(', ')}: ${reason}`;
    });
  console.log(
    [
      `\nThe service sent ${met.length} statements to the tables of tenants, ${sent} times.`,
      `${met.length - across.length} met one shard each time. ${across.length} may meet several:`,
      ...lines,
    ].join('\n'),
  );
}

/** A run that saw nothing proves nothing. */
function complaint(met, unknown, stale) {
  const lines = [
    ...(met.length === 0 ? ['No statement of the service was seen.'] : []),
    ...unknown.map(([text, { reason }]) => `Not pinned to one tenant (${reason}):\n${text}`),
    ...stale.map(({ words }) => `Listed as going across tenants, and never sent: ${words}`),
  ];
  return lines.length > 0 ? new Error(lines.join('\n\n')) : undefined;
}
