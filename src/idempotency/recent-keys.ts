/** Of each half; a name takes some 150 bytes. */
const MOST = 20_000;

/**
 * The keys that have come by here lately. No more than a hint what to try first: a key that is not among them may well be
 * known to the database, and whose it is, the claim decides.
 */
export class RecentKeys {
  private young = new Set<string>();
  private old = new Set<string>();

  /** @returns whether it was new here; it is not any more */
  add(tenantId: string, key: string): boolean {
    const name = `${tenantId} ${key}`;
    if (this.young.has(name)) return false;
    this.young.add(name);
    const isNew = !this.old.has(name);
    if (this.young.size >= MOST) [this.old, this.young] = [this.young, new Set()];
    return isNew;
  }
}
