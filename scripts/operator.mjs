/**
 * What an operator may do, from a terminal, over the service's own HTTP API:
 *
 *   npm run operator -- reviews [--status open|decided]          questions that wait for a person, newest first
 *   npm run operator -- decide <review> mark_succeeded <payment at the provider> [--note text]
 *   npm run operator -- decide <review> mark_failed|retry [--note text]
 *   npm run operator -- dead-letters                             messages that were given up
 *   npm run operator -- requeue <message>                        delivers one after all
 *   npm run operator -- purge <message>                          deletes one for good
 *   npm run operator -- erase <tenant> <address or order>        what is held of a person, and what stands in the way
 *   npm run operator -- erase <tenant> <address or order> --yes  erases it [--also externalRef,items]
 *
 * --json prints what the API answered; --limit and --cursor page through a list.
 * OPERATOR_URL and OPERATOR_TOKEN say where, and who is asking; without them it is the sandbox of `npm start`, on PORT.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const SANDBOX_URL = `http://localhost:${process.env.PORT || 3000}`;
const SANDBOX_TOKEN = 'op_test_operator';

const COMMANDS = {
  reviews: () => list('reviews', ['status', 'limit', 'cursor'], review),
  decide: (id, decision, providerId) =>
    act('PUT', `reviews/${name(id)}/decision`, decided, { decision, providerId, note: options.note }),
  'dead-letters': () => list('dead-letters', ['limit', 'cursor'], letter),
  requeue: (id) => act('POST', `dead-letters/${name(id)}/requeue`, letter),
  purge: (id) => act('DELETE', `dead-letters/${name(id)}`, () => `${id} is deleted`),
  erase: (tenantId, who) => erase(tenantId, who),
};

const { values: options, positionals } = parse();
const [command, ...operands] = positionals;

try {
  if (options.help || !Object.hasOwn(COMMANDS, command ?? '')) usage(options.help ? 0 : 2);
  else await COMMANDS[command](...operands);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

function parse() {
  const text = { type: 'string' };
  const flag = { type: 'boolean', default: false };
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        ...{ status: text, limit: text, cursor: text, note: text, also: text },
        ...{ yes: flag, json: flag, help: flag },
      },
    });
  } catch (error) {
    console.error(error.message);
    return { values: { help: false }, positionals: [] };
  }
}

async function list(path, filters, describe) {
  const query = filters.flatMap((each) =>
    options[each] ? `${each}=${encodeURIComponent(options[each])}` : [],
  );
  const page = await ask('GET', `${path}?${query.join('&')}`);
  if (options.json) return print(page);
  console.log(page.data.map(describe).join('\n\n') || 'There are none.');
  if (page.nextCursor) console.log(`\nThere are more: --cursor ${page.nextCursor}`);
}

async function act(method, path, describe, body) {
  const answer = await ask(method, path, body);
  if (!options.json) console.log(describe(answer));
  else if (answer) print(answer);
}

function erase(
  tenantId,
  who = fail('Whose data? A tenant, and the address or one order of their customer.'),
) {
  const also = options.also?.split(',');
  const body = { tenantId, ...(who.includes('@') ? { email: who } : { orderId: who }), also };
  return act('POST', options.yes ? 'erasures' : 'erasures/preview', erasure, body);
}

/** @throws Error with one sentence for the person who asked */
async function ask(method, path, body) {
  const url = process.env.OPERATOR_URL || SANDBOX_URL;
  const answer = await fetch(`${url}/v1/operator/${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${process.env.OPERATOR_TOKEN || SANDBOX_TOKEN}`,
      ...(body && { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  }).catch((error) =>
    fail(`${url} does not answer (${error.cause?.code ?? error.message}): set OPERATOR_URL.`),
  );
  const text = await answer.text();
  if (answer.ok) return text && (options.json ? JSON.parse(text) : parsePrintable(text));
  return fail(`${answer.status} ${problemIn(text)}`);
}

function problemIn(text) {
  try {
    const { code, detail, obstacles = [] } = parsePrintable(text);
    return [`${code}: ${detail}`, ...obstacles.map(obstacle)].join('\n');
  } catch {
    return printable(text.slice(0, 200));
  }
}

function review({ id, tenantId, subject, reason, key, charge, evidence, ...rest }) {
  return [
    `${id}  ${reason}  ${rest.decision ?? 'open'}`,
    `  tenant   ${tenantId}`,
    `  about    ${subject.kind} ${subject.id}`,
    key &&
      `  key      ${key.status} at ${key.recoveryPoint}, ${key.attempts} attempts, last error: ${key.lastError}`,
    charge &&
      `  charge   ${charge.id} of ${charge.orderId}: ${charge.status}, ${charge.amount} ${charge.currency}`,
    `  provider ${evidence.providerId ?? evidence.provider?.providerId ?? 'id unknown'}; derived key ${evidence.derivedKey ?? 'none'}`,
    evidence.lastError && `  error    ${evidence.lastError}`,
    ...known(evidence),
    ...evidence.timeline.map(({ at, what }) => `  ${at}  ${what}`),
    rest.note && `  note     ${rest.note}`,
  ]
    .filter(Boolean)
    .join('\n');
}

/** What else is known, whatever it is: a person decides by it. */
function known(evidence) {
  return flat(evidence)
    .filter(([name]) => !/^(providerId|derivedKey|lastError|timeline)\b/.test(name))
    .map(([name, value]) => `  ${name} ${value}`);
}

/** Every value that is no object, by its path: `provider.outcome.status`. */
function flat(object, path = '') {
  return Object.entries(object).flatMap(([name, value]) =>
    value && typeof value === 'object' ? flat(value, `${path}${name}.`) : [[path + name, value]],
  );
}

function decided({ id, decision, providerId, decidedBy, decidedAt, note }) {
  return `${id}  ${[decision, providerId].filter(Boolean).join(' ')}, by ${decidedBy} at ${decidedAt}${note ? `: ${note}` : ''}`;
}

function letter({ id, tenantId, topic, dedupeKey, attempts, lastError, createdAt, dueAt, sentAt, deadAt }) {
  const state = deadAt ? `dead since ${deadAt}` : sentAt ? `sent at ${sentAt}` : `due at ${dueAt}`;
  return [
    `${id}  ${topic}  ${state}`,
    `  tenant   ${tenantId}`,
    `  names    ${dedupeKey}`,
    `  staged   ${createdAt}, ${attempts} attempts, last error: ${lastError}`,
  ].join('\n');
}

function erasure({ orders, obstacles, notesToRead, ...counts }) {
  const held = Object.entries(counts).flatMap(([what, count]) =>
    typeof count === 'number' ? `${count} ${what}` : [],
  );
  return [
    ...orders.map(
      ({ id, status, createdAt, keepsExternalRef, erasedAt, erasedBy }) =>
        `${id}  ${status} of ${createdAt}  ${erasedAt ? `erased at ${erasedAt} by ${erasedBy}` : 'not erased'}${keepsExternalRef ? '; keeps its externalRef' : ''}`,
    ),
    `  ${options.yes ? 'erased' : 'holds'}    ${held.join(', ')}`,
    notesToRead.length > 0 && `  read     the notes of ${notesToRead.join(', ')}: they stay as they are`,
    ...obstacles.map(obstacle),
    !options.yes && (obstacles.length > 0 ? 'Not yet.' : 'Nothing is in the way: --yes erases it.'),
  ]
    .filter(Boolean)
    .join('\n');
}

function obstacle({ kind, id, status, waitFor }) {
  return `  in the way: ${kind} ${id} is ${status}, and waits for ${waitFor}`;
}

/** What the comment at the top of this file says. */
function usage(exitCode) {
  const [, comment] = /^\/\*\*\n([\s\S]*?) \*\/\n/.exec(readFileSync(new URL(import.meta.url), 'utf8'));
  console.log(comment.replaceAll(/^ \* ?/gm, ''));
  process.exitCode = exitCode;
}

function name(id) {
  return encodeURIComponent(id ?? fail('Which one? The list shows the ids.'));
}

function print(answer) {
  console.log(printable(JSON.stringify(answer, null, 2), '\n'));
}

/** Every value on the line that it belongs to. */
function parsePrintable(text) {
  return JSON.parse(text, (_name, value) => (typeof value === 'string' ? printable(value) : value));
}

/**
 * A client, the provider or a mail server chose some of these words: what would move the cursor of a terminal, colour it,
 * end a line or turn the direction of a text is shown as what it is. It stays JSON where it was.
 */
function printable(text, allowed = '') {
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    character === allowed ? character : character.split('').map(escaped).join(''),
  );
}

function fail(message) {
  throw new Error(message);
}
