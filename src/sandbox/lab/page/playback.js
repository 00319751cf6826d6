/** What has happened in a run, and what was true after each of it: one can look at any moment again. */
export class Playback {
  #moments = [];
  #now = start();
  #visited = {};

  clear() {
    this.#moments = [];
    this.beginAct(0);
  }

  beginAct(act) {
    this.#now = { ...start(), act };
    this.#visited = {};
  }

  add(happening) {
    const { kind, key, label, from, to, owner } = happening;
    const now = { ...this.#now, happening, focus: label ?? this.#now.focus };
    if (kind === 'request') now.requested = true;
    if (key) {
      now.keys = { ...now.keys, [key.label]: key };
      now.owners = { ...now.owners, [key.label]: owner };
      this.#visited[key.label] = new Set(this.#visited[key.label]).add(key.recoveryPoint);
      now.visited = { ...this.#visited };
    }
    now.calling = calling(happening, now.calling);
    now.dead = kind === 'death' && holds(from, now) ? true : kind === 'commit' && key ? false : now.dead;
    if (kind === 'request' && to) now.dead = now.dead && Boolean(now.keys[now.focus]);
    this.#now = now;
    this.#moments.push(now);
  }

  get length() {
    return this.#moments.length;
  }

  /** @returns what was true after the thing with this index; before the first, nothing was */
  at(index) {
    return this.#moments[index] ?? this.#now;
  }
}

function start() {
  return {
    act: 0,
    keys: {},
    owners: {},
    visited: {},
    focus: undefined,
    requested: false,
    calling: false,
    dead: false,
    happening: undefined,
  };
}

function calling({ kind, to, from }, before) {
  if (kind === 'death' || kind === 'commit') return false;
  if (kind !== 'call') return before;
  if (to === 'provider') return true;
  return from === 'provider' && to !== 'api' ? false : from !== 'provider' && before;
}

/** Whether the process that died was the one at work. */
function holds(lane, { keys, focus }) {
  const key = keys[focus];
  return !key || key.heldBy === lane;
}
