import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface OwnPostgres {
  /** Of its administrator, for `createTestDatabase`. */
  readonly url: string;
  /** It leaves nothing behind, as when the test is killed. */
  stop(): Promise<void>;
}

/** A PostgreSQL server for one test file, which may ill-treat it: the others share theirs. */
export async function startOwnPostgres({
  settings = {},
  env = {},
}: {
  readonly settings?: Readonly<Record<string, string>>;
  readonly env?: NodeJS.ProcessEnv;
} = {}): Promise<OwnPostgres> {
  const keeper = fork(
    fileURLToPath(new URL('./test-postgres.js', import.meta.url)),
    [JSON.stringify(settings)],
    { execArgv: [], env: { ...process.env, ...env } },
  );
  return { url: await startedAt(keeper), stop: () => stop(keeper) };
}

async function startedAt(keeper: ChildProcess): Promise<string> {
  const ended = once(keeper, 'exit').then(() => Promise.reject(new Error('PostgreSQL did not start')));
  const [{ url }] = (await Promise.race([once(keeper, 'message'), ended])) as [{ url: string }];
  ended.catch(() => undefined);
  return url;
}

async function stop(keeper: ChildProcess): Promise<void> {
  const ended = once(keeper, 'exit');
  keeper.disconnect();
  await ended;
}
