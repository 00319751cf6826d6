/** Seeded choices (mulberry32), so that a run can be asked for again. What the machine makes of them cannot. */
export class Dice {
  constructor(private state: number) {}

  /** In [0, 1). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Both ends may come. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  happens(probability: number): boolean {
    return this.next() < probability;
  }

  oneOf<T>(things: readonly T[]): T {
    return things[Math.floor(this.next() * things.length)]!;
  }

  /** The same things in another order (Fisher and Yates). */
  shuffled<T>(things: readonly T[]): T[] {
    const row = [...things];
    for (let last = row.length - 1; last > 0; last--) {
      const chosen = this.between(0, last);
      [row[last], row[chosen]] = [row[chosen]!, row[last]!];
    }
    return row;
  }

  /** `weighed({ plain: 9, rare: 1 })` */
  weighed<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const names = Object.keys(weights) as Name[];
    let left = this.next() * names.reduce((sum, name) => sum + weights[name], 0);
    return names.find((name) => (left -= weights[name]) < 0) ?? names[0]!;
  }

  /** A stream of its own for each part, so that one part's choices do not shift another's. */
  fork(): Dice {
    return new Dice(Math.floor(this.next() * 2 ** 32));
  }
}
