import { parseArgs } from 'node:util';
import { loadHashing, type Hashing } from '../../config/config.js';
import { runCommand } from '../../database/cli/command.js';
import { withDatabase } from '../../database/short-lived.js';
import type { Database } from '../../database/transaction.js';
import { addApiKey, addTenantWithKey, hashApiKey } from '../api-keys.js';
import { idOf, keysNamed, keysOf, revokeKey, type IssuedKey } from '../issued-keys.js';
import { newApiKey } from '../new-api-key.js';

const USAGE = `Tenants, and the API keys that speak for them:

  npm run tenants -- create <id> [--name <text>]   makes a tenant and its first key
  npm run tenants -- keys <id>                     its keys: prefix, when made, last used and revoked
  npm run tenants -- rotate <id>                   makes another key; the others go on until they are revoked
  npm run tenants -- revoke <key id or prefix>     refuses a key, in every process within five seconds

A key is shown once, when it is made. --json prints for programs.
DATABASE_URL, HASH_SECRET and NODE_ENV are those of the service; without DATABASE_URL it is the sandbox.
`;

const OLD_SCHEMA = 'The schema is not the newest: run db:migrate first.';

/** By SQLSTATE: undefined_table, undefined_column, insufficient_privilege. */
const WHY: ReadonlyMap<unknown, string> = new Map([
  ['42P01', OLD_SCHEMA],
  ['42703', OLD_SCHEMA],
  ['42501', 'This role may not: set DATABASE_URL to that of the owner of the tables.'],
]);

/** What to print: for people, and for programs. */
interface Said {
  readonly text: string;
  readonly json: object;
}

type Command = (database: Database, operand: string, hashing: Hashing) => Promise<Said>;

const COMMANDS: Readonly<Record<string, Command>> = { create, keys, rotate, revoke };

const { values: options, positionals } = parse();
const [name = '', operand = '', ...rest] = positionals;
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;

if (options.help || !command || !operand || rest.length > 0) usage(options.help ? 0 : 2);
else
  await runCommand(async ({ url }) => {
    const hashing = loadHashing();
    const { text, json } = await withDatabase(url, (database) => command(database, operand, hashing)).catch(
      explain,
    );
    console.log(printable(options.json ? JSON.stringify(json, null, 2) : text));
  });

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        name: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    console.error((error as Error).message);
    return { values: { help: false, json: false, name: undefined }, positionals: [] };
  }
}

function usage(exitCode: number): void {
  (exitCode === 0 ? console.log : console.error)(USAGE);
  process.exitCode = exitCode;
}

async function create(database: Database, id: string, hashing: Hashing): Promise<Said> {
  const tenant = { id: checkId(id), name: checkName(options.name ?? id) };
  const key = newApiKey(hashing.production ? 'live' : 'test');
  if (!(await addTenantWithKey(database, tenant, key, hashing.hashSecret)))
    throw new Error(`There is a tenant ${id} already: "rotate ${id}" makes another key for it.`);
  return shownOnce(database, tenant.id, key, hashing);
}

async function keys(database: Database, id: string): Promise<Said> {
  const found = (await keysOf(database, checkId(id))) ?? noTenant(id);
  return { text: found.map(describe).join('\n') || 'There are none.', json: { tenantId: id, keys: found } };
}

async function rotate(database: Database, id: string, hashing: Hashing): Promise<Said> {
  if (!(await keysOf(database, checkId(id)))) noTenant(id);
  const key = newApiKey(hashing.production ? 'live' : 'test');
  await addApiKey(database, id, key, hashing.hashSecret);
  return shownOnce(database, id, key, hashing);
}

async function revoke(database: Database, name: string): Promise<Said> {
  const found = await keysNamed(database, name);
  const [key] = found;
  if (!key) throw new Error('There is no key of that id or prefix: "keys <tenant>" shows both.');
  if (found.length > 1)
    throw new Error(
      `Several keys begin with ${name}; say which one by its id:\n${found.map(describe).join('\n')}`,
    );
  const revoked = await revokeKey(database, key.id);
  return { text: describe(revoked), json: revoked };
}

/** The only time that a key is seen by anybody. */
async function shownOnce(
  database: Database,
  tenantId: string,
  key: string,
  { hashSecret }: Hashing,
): Promise<Said> {
  const all = (await keysOf(database, tenantId)) ?? noTenant(tenantId);
  const made = all.find(({ id }) => id === idOf(hashApiKey(key, hashSecret)))!;
  const others = all.filter(({ id, revokedAt }) => id !== made.id && !revokedAt);
  const text = [
    key,
    '',
    `Keep it: it is not stored, and not shown again. It speaks for ${tenantId}, and is known as ${made.id}.`,
    ...(others.length > 0
      ? ['', 'These work as well, until they are revoked:', ...others.map(describe)]
      : []),
  ].join('\n');
  return { text, json: { tenantId, apiKey: key, key: made } };
}

function describe({ id, prefix, tenantId, createdAt, lastUsedAt, revokedAt }: IssuedKey): string {
  const used = lastUsedAt ? `last used ${lastUsedAt.toISOString()}` : 'never used';
  const state = revokedAt ? `revoked ${revokedAt.toISOString()}` : 'works';
  return `${id}  ${prefix}…  of ${tenantId}, made ${createdAt.toISOString()}, ${used}, ${state}`;
}

/** Printable, as it is a part of ids, mails and events; without what a shell or a URL would take for its own. */
function checkId(id: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/.test(id)) return id;
  throw new Error(
    'The id of a tenant has 1 to 63 letters, digits and _ . -, and begins with a letter or a digit.',
  );
}

function checkName(name: string): string {
  if (/^[^\p{Cc}]{1,200}$/u.test(name)) return name;
  throw new Error('The name of a tenant has 1 to 200 characters, on one line.');
}

function noTenant(id: string): never {
  throw new Error(`There is no tenant ${id}: "create ${id}" makes it.`);
}

/** Whatever goes to a terminal, errors too, is made fit for it. */
function explain(error: unknown): never {
  const { code, message } = error as Error & { code?: unknown };
  throw new Error(printable(WHY.get(code) ?? message), { cause: error });
}

/** Rows may have been written by hand: what would move the cursor of a terminal is shown as what it is, in JSON too. */
function printable(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(/[^\P{C}\n]/gu, (character) => character.split('').map(escaped).join(''));
}
