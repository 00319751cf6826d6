import type { Facts } from './facts.js';
import { quantiles, type Figures, type Quantiles } from './figures.js';
import type { Spell } from './instance.js';
import { isDefinitive, isHung, type Intent, type Journal, type Try } from './journal.js';
import type { Stage } from './stage.js';
import type { Violation } from './violation.js';

/** How many timelines are printed: they are long, and one of each kind tells. */
const TIMELINES = 8;

/** Answers that took longer are looked into: what was broken meanwhile? */
const SLOW_MS = 2_000;

export function progress(journal: Journal, seconds: number, { apis, workers }: Stage): string {
  const ended = journal.intents.filter(({ final }) => final).length;
  const kills = [...apis, ...workers].reduce((sum, each) => sum + each.kills, 0);
  return `${Math.round(seconds)} s: ${journal.intents.length} intents, ${ended} answered, ${journal.tries.length} requests, ${kills} kills`;
}

export function counts(
  { intents, kills, restarts, met, acknowledged }: Figures,
  { intents: made, tries }: Journal,
  stage: Stage,
  decided: ReadonlyMap<string, number>,
): string {
  const bySeen = tally(tries.map(({ status, code, error }) => error ?? `${status} ${code ?? ''}`));
  const slow = tries.filter((each) => isDefinitive(each) && each.ms > SLOW_MS);
  return [
    `intents: ${intents}, of which ${made.filter((each) => each.abandoned).length} were left by their client`,
    `processes killed with -9: ${kills}; database restarts: ${restarts}`,
    `reviews decided: ${[...decided].map(([decision, count]) => `${decision} ${count}`).join(', ') || 'none'}`,
    'faults that were met:',
    ...Object.entries(met).map(([kind, count]) => `  ${kind}: ${count}`),
    'what clients saw:',
    ...bySeen.map(([what, count]) => `  ${what}: ${count}`),
    `acknowledged answers, ms: ${line(acknowledged)}`,
    ...tally(slow.map((each) => `  slower than ${SLOW_MS} ms ${meanwhile(each, stage)}`)).map((each) =>
      each.join(': '),
    ),
    `whole intents, ms: ${line(quantiles(made.filter(({ final }) => final).map(wholeTime)))}`,
  ].join('\n');
}

function meanwhile(slow: Try, { apis, database }: Stage): string {
  const { at, ms, api } = slow;
  if (isHung(slow)) return 'as a fault point had it hang';
  const from = Date.parse(at);
  const during = (spell: Spell) => spell.from < from + ms && from < spell.to;
  if (apis.find(({ program }) => program.name === api)?.pauses.some(during))
    return 'while its process was paused';
  return database.restarts.some(during) ? 'while the database came back' : 'while neither was away';
}

export function violations(found: readonly Violation[], facts: Facts): string {
  const listed = found.map(({ what, tenant, key, orderId }) =>
    ['VIOLATION', what, tenant, key && `key ${key}`, orderId].filter(Boolean).join(' · '),
  );
  const kinds = new Map(found.map((each) => [each.what.replace(/\w+_[0-9a-z]{24,26}|\d+/g, ''), each]));
  const timelines = [...kinds.values()].slice(0, TIMELINES).map((each) => timeline(each, facts));
  return [...listed.slice(0, 100), ...timelines].join('\n');
}

/** All that is known of what went wrong: what clients sent and saw, and what is written down where. */
export function timeline({ what, key, orderId }: Violation, facts: Facts): string {
  const order = orderId ?? orderOf(key, facts);
  const keys = new Set([key, ...facts.charges.filter((row) => row.order_id === order).map((row) => row.key)]);
  const charges = facts.charges.filter((row) => row.order_id === order || keys.has(row.key));
  const refunds = facts.refunds.filter((row) => charges.some(({ id }) => id === row.charge_id));
  const names = [order, ...keys, ...charges.map(({ id }) => id), ...refunds.map(({ id }) => id)].filter(
    Boolean,
  );
  const about = (row: unknown) => names.some((name) => JSON.stringify(row).includes(name!));
  const intents = facts.journal.intents.filter((intent) => keys.has(intent.key) || about(intent.tries));
  return [
    `\n=== ${what}`,
    ...intents.flatMap(told),
    ...section(
      'keys',
      facts.keys.filter((row) => intents.some((intent) => intent.key === row.key)),
    ),
    ...section('orders', facts.orders.filter(about)),
    ...section('charges', charges),
    ...section('refunds', refunds),
    ...section('ledger', facts.ledger.filter(about)),
    ...section('outbox', facts.outbox.filter(about)),
    ...section('provider charges', facts.provider.charges.filter(about)),
    ...section('provider refunds', facts.provider.refunds.filter(about)),
    ...section(
      'mails',
      facts.mails.filter(about).map(({ messageId, receivedAt }) => ({ messageId, receivedAt })),
    ),
    ...section(
      'audit',
      facts.audit.filter((row) => keys.has(row.key)),
    ),
  ].join('\n');
}

function orderOf(key: string | undefined, { charges }: Facts): string | undefined {
  return charges.find((row) => row.key === key)?.order_id;
}

function told({ tenant, key, route, body, tries, abandoned }: Intent): string[] {
  return [
    `${tenant} wants ${route} under ${key}${abandoned ? ', and left' : ''}: ${JSON.stringify(body)}`,
    ...tries.map((each) => `  ${JSON.stringify(each)}`),
  ];
}

function section(name: string, rows: readonly unknown[]): string[] {
  return rows.length === 0 ? [] : [`${name}:`, ...rows.map((row) => `  ${JSON.stringify(row)}`)];
}

function tally(names: readonly string[]): [string, number][] {
  const counted = new Map<string, number>();
  for (const name of names) counted.set(name, (counted.get(name) ?? 0) + 1);
  return [...counted].sort(([, one], [, other]) => other - one);
}

function wholeTime({ tries, final }: Intent): number {
  return Date.parse(final!.at) + final!.ms - Date.parse(tries[0]!.at);
}

function line({ p50, p99, longest, count }: Quantiles): string {
  return `p50 ${p50}, p99 ${p99}, longest ${longest} (${count})`;
}
