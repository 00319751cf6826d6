import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** One change of the built code: in which file, what, to what. */
type Patch = readonly [file: string, from: string, to: string];

/**
 * The service with one of its guards taken out, each in a copy of the build: a checker that lets one of these pass
 * could let anything pass. Nothing in the product knows of them.
 */
export const MUTANTS: Readonly<Record<string, readonly Patch[]>> = {
  'no-fence': [
    [
      'idempotency/fence.js',
      'AND owner = $3 AND version = $4 AND ${IN_PROGRESS}',
      'AND ($3::uuid IS NOT NULL AND $4::int IS NOT NULL)',
    ],
  ],
  'fence-that-lets-the-commit-pass': [
    ['database/statement.js', 'SELECT 1 / (count(*) = 1)::int FROM changed', 'SELECT 1 FROM changed'],
  ],
  'random-derived-keys': [
    [
      'idempotency/ask.js',
      'call.call(body, derivedKey)',
      'call.call(body, `${derivedKey}:${crypto.randomUUID()}`)',
    ],
  ],
  'claim-outside-the-transaction': [
    [
      'idempotency/local-work.js',
      'this.store.claim(tx, attempt, attempt.unclaimed, () => written);',
      'this.database.transaction((own) => this.store.claim(own, attempt, attempt.unclaimed, () => undefined)); await claim;',
    ],
    ['idempotency/local-work.js', 'if (!claim || tx.departed)', 'if (true)'],
  ],
  'outbox-row-outside-the-transaction': [
    [
      'outbox/outbox.js',
      'tx.send(ADD, [',
      `const later = (values) => tx.dataSource.transaction(async (manager) => {
         await manager.query("SELECT set_config('checkout.tenant', $1, true)", [values[0]]);
         await manager.query(ADD.text, values);
       });
       const addLater = (values) => tx.afterCommit(() => void later(values).catch(() => undefined));
       addLater([`,
    ],
  ],
  'reaper-that-ignores-status': [
    [
      'idempotency/expired-keys.js',
      "since: 'expires_at',\n        served: \"status = 'finished'\",\n        only: `",
      "since: 'next_run_at',\n        served: 'true',\n        only: `(expires_at IS NULL OR expires_at <= now()) AND ",
    ],
    ['idempotency/recovery.module.js', '60_000', '500'], // a round a minute would take long to meet a key
  ],
  'takeover-before-expiry': [
    ['idempotency/idempotency-key.row.js', '(row.lease_remaining ?? 0) > 0', 'false'],
    [
      'idempotency/idempotency-key.store.js',
      'AND (locked_until IS NULL OR locked_until <= now())',
      'AND true',
    ],
  ],
  'timeout-taken-for-a-decline': [
    [
      'payments/stripe-errors.js',
      'return lost(error);',
      "return { status: 'declined', failure: { code: 'card_declined', message: 'No answer.' } };",
    ],
  ],
  'blind-re-run-after-a-lost-commit-answer': [
    [
      'idempotency/local-work.js',
      'doubted ||= error instanceof CommitUnknown;',
      'doubted ||= error instanceof CommitUnknown; attempt.blind ||= doubted;',
    ],
    [
      'idempotency/local-work.js',
      'const committed = doubted && mayBeOurs(error) ? await this.committedRow(attempt) : undefined;',
      'const committed = undefined;',
    ],
    ['idempotency/local-work.js', 'claim = attempt.unclaimed', 'claim = !attempt.blind && attempt.unclaimed'],
    [
      'idempotency/local-work.js',
      'if (!claim || tx.departed)',
      'if (!attempt.blind && (!claim || tx.departed))',
    ],
  ],
};

/** @param build the copy to change. @throws where the code has moved on and the patch has not */
export async function mutate(build: string, name: string): Promise<void> {
  const patches = MUTANTS[name];
  if (!patches) throw new Error(`${name} is no mutant: ${Object.keys(MUTANTS).join(', ')}`);
  for (const [file, from, to] of patches) {
    const path = join(build, 'src', file);
    const code = await readFile(path, 'utf8');
    if (!code.includes(from)) throw new Error(`${name}: ${file} does not contain "${from}"`);
    await writeFile(path, code.replaceAll(from, to));
  }
}
