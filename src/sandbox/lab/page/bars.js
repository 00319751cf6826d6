/**
 * The bars along the lanes: who is working on a key, for how long its lease is good, and which process is down.
 * `step` gives them as they are before and after something has happened.
 */
export class Bars {
  #owners = new Map();
  #leases = new Map();
  #down = new Set();

  constructor(colours) {
    this.colours = colours;
  }

  reset() {
    this.#owners.clear();
    this.#leases.clear();
    this.#down.clear();
  }

  step(happening) {
    const before = this.#all();
    this.#take(happening);
    return { before, after: this.#all() };
  }

  #take({ kind, from, key, label, owner }) {
    const id = `${label}${owner}`;
    switch (kind) {
      case 'commit':
        if (key) this.#moved(key, id, owner);
        return;
      case 'lease':
        if (this.#leases.has(label)) this.#leases.get(label).over = true;
        return;
      case 'refused':
        this.#owners.delete(id);
        return;
      case 'death':
        this.#down.add(from);
        for (const [each, bar] of this.#owners) if (bar.lane === from) this.#owners.delete(each);
        return;
      case 'back':
        this.#down.delete(from);
    }
  }

  #moved({ label, owner: holder, heldBy }, id, owner) {
    if (holder === 0) {
      this.#owners.delete(id);
      this.#leases.delete(label);
      return;
    }
    const colour = this.colours.of(label, owner);
    for (const bar of this.#owners.values()) if (bar.label === label) bar.stalled = true;
    this.#owners.set(id, { id, label, lane: heldBy, colour, stalled: false });
    this.#leases.set(label, { colour, over: false });
  }

  #all() {
    return [
      ...[...this.#down].map((lane) => ({ id: `down-${lane}`, lane, kind: 'down', colour: '', offset: 0 })),
      ...[...this.#owners.values()].map(({ id, lane, colour, stalled }, index) => ({
        id,
        lane,
        kind: stalled ? 'stalled' : 'working',
        colour,
        offset: index,
      })),
      ...[...this.#leases].map(([label, { colour, over }], index) => ({
        id: `lease-${label}-${colour}-${over}`,
        lane: 'database',
        kind: over ? 'lease-over' : 'lease',
        colour,
        offset: index,
      })),
    ];
  }
}
