/** `a, b,` → `a` and `b`. */
export function listOf(commaSeparated: string): string[] {
  return commaSeparated
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean);
}
