import { listOf } from './list-of.js';

/** What seals the values that clients sent and were answered. */
export interface SealingKeys {
  /** Id of the key that seals what is written; null: it is written plain. */
  readonly writesWith: string | null;
  /** By id, 32 bytes each: all of them open what is read. */
  readonly keys: ReadonlyMap<string, Buffer>;
}

/** In the first place it stands for no key at all: what is sealed is read, and what is written stays plain. */
const PLAIN = 'plain';

const ID = /^[a-z0-9_-]{1,32}$/;

/** @returns undefined where nothing is set */
export function sealingKeysOf(setting: string): SealingKeys | undefined {
  const entries = listOf(setting);
  if (entries.length === 0) return undefined;
  const [first] = entries;
  const keys = new Map(keyEntries(entries).map(({ id, base64 }) => [id, Buffer.from(base64, 'base64')]));
  return { writesWith: first === PLAIN ? null : [...keys.keys()][0]!, keys };
}

/** One sentence, which holds no key; undefined where nothing is wrong. */
export function wrongSealingKeys(setting: string): string | undefined {
  const seen = new Set<string>();
  for (const { id, base64 } of keyEntries(listOf(setting))) {
    if (!ID.test(id) || id === PLAIN) return SHAPE;
    if (!isKey(base64)) return `SEALING_KEYS: the key ${id} must be 32 bytes, as 44 characters of base64`;
    if (seen.has(id)) return `SEALING_KEYS names the key ${id} twice`;
    seen.add(id);
  }
  return undefined;
}

const SHAPE =
  'SEALING_KEYS must be <id>:<base64 of 32 bytes>, comma separated, each id 1 to 32 of a-z, 0-9, _ and -; the word plain may come first';

function keyEntries(entries: readonly string[]): { id: string; base64: string }[] {
  const ofKeys = entries[0] === PLAIN ? entries.slice(1) : entries;
  return ofKeys.map((entry) => {
    const [id = '', ...rest] = entry.split(':');
    return { id, base64: rest.join(':') };
  });
}

function isKey(base64: string): boolean {
  const bytes = Buffer.from(base64, 'base64');
  return bytes.length === 32 && bytes.toString('base64') === base64;
}
