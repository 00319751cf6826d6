import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.js';
import type { Settings } from './app.module.js';
import { startDoor, type TestDoor } from './test-door.js';

const EXAMPLE = 'docs/examples/desk-booking';

/** A folder with the application and what the guide says it takes, and nothing else. */
async function takeEngine(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'engine-alone-'));
  const example = { path: EXAMPLE, without: ['desk-booking.spec.ts', 'test-door.ts'] };
  for (const { path, without } of [...(await taken()), example]) {
    await mkdir(join(folder, dirname(path)), { recursive: true });
    const filter = (file: string) => !without.includes(basename(file));
    await cp(path, join(folder, path), { recursive: true, filter });
  }
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  const compilerOptions = { rootDir: '.', noEmit: true, incremental: false, types: ['node'] };
  const tsconfig = { extends: resolve('tsconfig.json'), compilerOptions, include: ['src', 'docs'] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
  return folder;
}

interface Taken {
  readonly path: string;
  readonly without: readonly string[];
}

/** The first column of the guide's table, cell by cell; `{a,b}` are several. */
async function taken(): Promise<Taken[]> {
  const guide = await readFile('docs/make-it-yours.md', 'utf8');
  const table = /\| take \| why \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(guide)![1]!;
  return table.split('\n').flatMap((line) => {
    const [paths = '', without = ''] = (line.split('|')[1] ?? '').split('without');
    const names = namesIn(without);
    return namesIn(paths).flatMap((path) => spelt(path).map((each) => ({ path: each, without: names })));
  });
}

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
}

function spelt(path: string): string[] {
  const [, before, names, after] = /^(.*)\{(.*)\}(.*)$/.exec(path) ?? [];
  return names ? names.split(',').map((name) => `${before}${name}${after}`) : [path];
}

let folder: string;
let db: TestDatabase;
let door: TestDoor;
let app: { readonly url: string; readonly child: ChildProcess } | undefined;
beforeAll(async () => {
  [folder, db, door] = await Promise.all([takeEngine(), createTestDatabase({ empty: true }), startDoor()]);
  app = await start();
  await db.sql("INSERT INTO teams VALUES ('blue', 'token-of-blue'), ('red', 'token-of-red')");
});
afterAll(async () => {
  await end('SIGTERM');
  await door.close();
  await db.drop();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  door.fault();
  door.codes.clear();
  door.calls.length = 0;
});

/** The application, run from that folder. */
async function start(): Promise<NonNullable<typeof app>> {
  const settings: Settings = {
    databaseUrl: db.url,
    doorUrl: door.url,
    port: 0,
    lease: 30,
    hashSecret: 'a secret of the application’s own, long enough',
    faults: true,
  };
  const args = [
    '--import',
    resolve('test/torture/register.mjs'),
    `${EXAMPLE}/main.ts`,
    JSON.stringify(settings),
  ];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^Listening at (\S+)/.exec(line)?.[1];
    if (url) return { url, child };
  }
  throw new Error('The application ended before it listened');
}

async function end(signal: NodeJS.Signals): Promise<void> {
  const child = app?.child;
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

let days = 0;
/** One that nobody has asked for yet. */
const newDay = () => new Date(Date.UTC(2027, 0, ++days)).toISOString().slice(0, 10);

interface Booking {
  readonly day?: string;
  readonly key?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function book({ day = newDay(), key = randomUUID(), token = 'token-of-blue', headers }: Booking = {}) {
  const response = await fetch(`${app!.url}/desks/window/bookings`, {
    method: 'POST',
    headers: {
      'x-team-token': token,
      'idempotency-key': key,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify({ day }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

const codesOf = (wanted: string) => [...door.codes.values()].filter(({ day }) => day === wanted);
const keyRow = async (key: string) =>
  (await db.sql('SELECT * FROM idempotency_keys WHERE key = $1', [key]))[0];

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await holds()) return;
    await sleep(50);
  }
  throw new Error('It did not come to pass');
}

describe('The engine in an application of its own', () => {
  it('compiles with what the guide says to take, and nothing else', async () => {
    const tsc = resolve('node_modules/typescript/bin/tsc');
    const compile = promisify(execFile)(process.execPath, [tsc, '-p', folder]).catch(
      (error: { stdout: string }) => error,
    );
    expect((await compile).stdout).toBe('');
  }, 120_000);

  it('has the tables that the service has', async () => {
    const service = await createTestDatabase();
    const [theirs, ours] = [await service.sql(TABLES), await db.sql(TABLES)];
    await service.drop();
    expect(ours.length).toBeGreaterThan(60);
    expect(ours).toEqual(theirs);
  });

  it('answers a retry with the bytes of the first answer', async () => {
    const [day, key] = [newDay(), randomUUID()];
    const first = await book({ day, key });
    expect([first.status, first.body.code]).toEqual([201, expect.stringMatching(/^code-/)]);
    const again = await book({ day, key });
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    expect(codesOf(day)).toHaveLength(1);
  });

  it('answers 409 while the first request is at work, and 422 where the key comes with another body', async () => {
    const [day, key] = [newDay(), randomUUID()];
    door.fault('slow');
    const first = book({ day, key });
    await until(async () => door.calls.length === 1);
    const [busy, other] = [await book({ day, key }), await book({ key })];
    door.go();
    expect([busy.status, busy.body.code]).toEqual([409, 'idempotency_key_in_use']);
    expect(Number(busy.headers.get('retry-after'))).toBeGreaterThan(0);
    expect([other.status, other.body.differs]).toEqual([422, ['day']]);
    expect(other.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect((await first).status).toBe(201);
  });

  it('knows callers as the application does, and keeps their keys apart', async () => {
    const [day, key] = [newDay(), randomUUID()];
    expect((await book({ day, key, token: 'of nobody' })).status).toBe(401);
    expect((await book({ day, key })).status).toBe(201);
    const red = await book({ day, key, token: 'token-of-red' });
    expect([red.status, red.headers.get('idempotent-replayed')]).toEqual([201, null]);
    expect(codesOf(day).map(({ team }) => team)).toEqual(['blue', 'red']);
  });

  it('leaves what the application refuses to the application', async () => {
    const key = randomUUID();
    expect(await book({ day: 'tomorrow', key })).toMatchObject({
      status: 400,
      body: { error: 'Bad Request' },
    });
    expect((await book({ key })).status).toBe(201);
  });

  it('stores what the operation refuses', async () => {
    const [day, key] = [newDay(), randomUUID()];
    await book({ day });
    const taken = await book({ day, key });
    expect([taken.status, taken.body.code]).toEqual([409, 'desk_taken']);
    expect((await book({ day, key })).headers.get('idempotent-replayed')).toBe('true');
  });

  it('resumes after an unknown outcome, under the same derived key', async () => {
    const [day, key] = [newDay(), randomUUID()];
    door.fault('lost', 'lost', 'blind');
    const unknown = await book({ day, key });
    expect([unknown.status, unknown.body.code]).toEqual([503, 'outcome_unknown']);
    expect((await book({ day, key })).status).toBe(201);
    expect([codesOf(day).length, door.calls.length, new Set(door.calls).size]).toEqual([1, 3, 1]);
    expect(door.calls[0]).toMatch(/^desks:idem_\w+:code$/);
  });

  it('finishes what its client has left', async () => {
    const [day, key] = [newDay(), randomUUID()];
    door.fault('lost', 'lost', 'blind');
    expect((await book({ day, key })).status).toBe(503);
    await db.sql('UPDATE idempotency_keys SET next_run_at = now() WHERE key = $1', [key]);
    await until(async () => (await keyRow(key))!['status'] === 'finished');
    expect((await book({ day, key })).headers.get('idempotent-replayed')).toBe('true');
    expect(codesOf(day)).toHaveLength(1);
  });

  it('resumes after kill -9, and deletes keys that have expired', async () => {
    const [day, key, expired] = [newDay(), randomUUID(), randomUUID()];
    await book({ key: expired });
    await db.sql("UPDATE idempotency_keys SET expires_at = now() - interval '1 s' WHERE key = $1", [expired]);
    const headers = { 'sandbox-fault': 'call.after:code=crash' };
    await expect(book({ day, key, headers })).rejects.toThrow();
    await end('SIGKILL');
    await db.sql('UPDATE idempotency_keys SET locked_until = now() WHERE key = $1', [key]);

    app = await start();
    expect((await book({ day, key })).status).toBe(201);
    expect([codesOf(day).length, door.calls.filter((each) => each.endsWith(':code')).length]).toEqual([1, 3]);
    await until(async () => (await keyRow(expired)) === undefined);
  });
});

/**
 * Columns, constraints and indexes of the engine's tables, with what is said of them. Whether a constraint was checked
 * against rows of before is nothing that a new table has.
 */
const TABLES = `
  WITH engine AS (SELECT unnest(ARRAY['idempotency_keys', 'reviews'])::regclass AS relation)
  SELECT concat_ws(' ', relation, attname, format_type(atttypid, atttypmod), attcollation, attnotnull,
                   pg_get_expr(adbin, adrelid), col_description(relation, attnum)) AS line
    FROM engine JOIN pg_attribute ON attrelid = relation AND attnum > 0 AND NOT attisdropped
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
   UNION ALL
  SELECT concat_ws(' ', relation, conname, replace(pg_get_constraintdef(pg_constraint.oid), ' NOT VALID', '')) FROM engine JOIN pg_constraint ON conrelid = relation
   UNION ALL
  SELECT pg_get_indexdef(indexrelid) FROM engine JOIN pg_index ON indrelid = relation
   UNION ALL
  SELECT concat_ws(' ', relation, obj_description(relation, 'pg_class'), reloptions)
    FROM engine JOIN pg_class ON pg_class.oid = relation
   ORDER BY line`;
