/** How many owners can be told apart at a glance; a fifth looks like the first. */
const COLOURS = 4;

/** Each owner of each key has a colour, in the order in which they come. */
export class Colours {
  #known = [];

  /** @returns a class name, or '' for nobody */
  of(label, owner) {
    if (!label || !owner) return '';
    const id = `${label}${owner}`;
    if (!this.#known.includes(id)) this.#known.push(id);
    return `owner-${(this.#known.indexOf(id) % COLOURS) + 1}`;
  }

  reset() {
    this.#known = [];
  }
}
