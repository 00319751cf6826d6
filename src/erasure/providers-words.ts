/** Members of an outcome in which the provider speaks of the customer: why it said no, where they authenticate. */
const WORDS: readonly string[] = ['failure', 'nextAction'];

export function hasWords(value: unknown): boolean {
  return JSON.stringify(value) !== JSON.stringify(withoutWords(value));
}

/** The same JSON value without them, however deep they are. */
export function withoutWords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutWords);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !WORDS.includes(name));
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutWords(member)]));
}
