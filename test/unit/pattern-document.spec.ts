import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const document = readFileSync('docs/pattern.md', 'utf8');
const diagram = /```mermaid\n(.*?)```/s.exec(document)![1]!;

/** `held --> free` for each arrow, once per arrow. */
const arrows = [...diagram.matchAll(/^\s*(\S+) --> (\S+?)(?::|$)/gm)].map(
  ([, from, to]) => `${from} --> ${to}`,
);

/** What each statement that writes the row of a key moves it along; `key_hold` only asks whether it still can be written. */
const EDGES: Readonly<Record<string, readonly string[]>> = {
  key_claim: ['absent --> held', 'absent --> finished', 'expired --> held'],
  key_claim_unseen: ['absent --> held', 'absent --> finished'],
  key_begin: ['absent --> free'],
  key_advance: ['held --> held'],
  key_renew: ['held --> held'],
  key_hold: ['held --> held'],
  key_release: ['held --> free'],
  key_put_off: ['held --> free'],
  key_pass_over: ['held --> free'],
  key_to_review: ['held --> review'],
  key_finish: ['held --> finished', 'absent --> finished'],
  key_take_over: ['free --> held'],
  key_claim_due: ['free --> held'],
  key_reopen: ['review --> free'],
  key_erase_replies: ['finished --> finished'],
  reap_idempotency_keys: ['expired --> absent'],
};

/** No statement: a request that is refused or replayed, and time. */
const UNWRITTEN = ['[*] --> absent', 'absent --> absent', 'finished --> expired'];

describe('The diagram of a key’s life', () => {
  it('has every state that the table below it explains, and no other', () => {
    const names = [...diagram.matchAll(/^\s*state "(.+)" as \w+$/gm)].map(([, name]) => name!);
    const table = document.slice(document.indexOf('| state | `status` |')).split('\n\n')[0]!;
    const explained = [...table.matchAll(/^\| (?!state|-)([^|]+?) \|/gm)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(4);
    expect(names.sort()).toEqual(explained.sort());
  });

  it('has an edge for every statement that writes the row, and no edge that nothing makes', () => {
    expect(writers().sort()).toEqual(Object.keys(EDGES).sort());
    expect([...new Set(arrows)].sort()).toEqual(
      [...new Set([...Object.values(EDGES).flat(), ...UNWRITTEN])].sort(),
    );
  });

  it('has one arrow at most from a state to itself: of several, only the last is drawn', () => {
    const loops = arrows.filter((arrow) => /^(\S+) --> \1$/.test(arrow));
    expect(loops).toEqual([...new Set(loops)]);
  });
});

/** The names of the statements in the service that write rows of keys. */
function writers(): string[] {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('sandbox'))
    .map((path) => readFileSync(join('src', path), 'utf8'));
  const [statements, all, reaped] = [
    /\(\s*'(\w+)',\s*`\s*(?:UPDATE|INSERT INTO|DELETE FROM) idempotency_keys\b/g,
    /(?:UPDATE|INSERT INTO|DELETE FROM) idempotency_keys\b/g,
    /table: '(idempotency_keys)',\s*key: 'key',\s*since:/g,
  ].map((pattern) => files.flatMap((code) => [...code.matchAll(pattern)]));
  expect(statements!.length).toBe(all!.length); // one that has no name would not be found
  return [...statements!.map(([, name]) => name!), ...reaped!.map(([, table]) => `reap_${table}`)];
}
