import { Bars } from './bars.js';
import { byId, icon, make } from './dom.js';

const LANES = [
  ['client', 'Client'],
  ['api', 'API'],
  ['database', 'Database', 'DB'],
  ['provider', 'Provider'],
  ['worker', 'Worker'],
  ['mail', 'Mail'],
];

const laneOf = (name) => LANES.findIndex(([lane]) => lane === name);

/** What marks the end of an arrow, or stands alone on its lane. */
const MARKS = {
  commit: 'commit',
  refused: 'shield',
  mail: 'mail',
  death: 'kill',
  back: 'back',
  lease: 'clock',
  clock: 'forward',
  note: 'wait',
};

const OWNED = ['commit', 'call', 'lease', 'refused'];

/** So much time without anything is worth a line of its own. */
const GAP_MS = 900;

/** The swim lanes: one row for each thing that happened, drawn as it comes in. */
export class Diagram {
  #list = byId('happenings');
  #scroller = byId('scroller');
  #rows = [];
  #last = 0;
  #labels = new Set();

  constructor(colours, onSelect) {
    this.colours = colours;
    this.bars = new Bars(colours);
    this.onSelect = onSelect;
    byId('lanes').append(
      ...LANES.map(([, title, short = title]) =>
        make('span', {}, make('b', {}, title), make('b', {}, short)),
      ),
    );
    this.#list.addEventListener('keydown', (event) => this.#move(event));
    this.#list.addEventListener('click', ({ target }) => {
      const index = this.#rows.indexOf(target.closest('.happening'));
      if (index >= 0) this.onSelect(index);
    });
  }

  clear() {
    this.#list.replaceChildren();
    this.#rows = [];
    this.#last = 0;
    this.bars.reset();
  }

  beginAct(title, ms) {
    this.bars.reset();
    this.#labels.clear();
    this.#last = ms;
    if (title !== null) this.#list.append(make('li', { class: 'act', role: 'presentation' }, title));
  }

  add(happening) {
    const { ms, kind, owner, label, tone } = happening;
    if (this.#rows.length > 0 && ms - this.#last > GAP_MS) this.#list.append(this.#gap(ms - this.#last));
    this.#last = ms;
    const row = make(
      'li',
      {
        id: `happening-${this.#rows.length}`,
        class: `happening ${kind} ${this.colours.of(label, owner)} ${tone ?? ''}`,
        role: 'option',
        'aria-selected': 'false',
      },
      make('span', { class: 'when' }, seconds(ms)),
      this.#strip(happening),
      words(happening, this.#who(happening)),
    );
    this.#rows.push(row);
    this.#list.append(row);
  }

  /** @param follow keep what is new in sight, as long as nobody reads what is old */
  select(index, follow) {
    for (const row of this.#list.querySelectorAll('[aria-selected="true"]'))
      row.setAttribute('aria-selected', 'false');
    const row = this.#rows[index];
    if (!row) return this.#list.removeAttribute('aria-activedescendant');
    row.setAttribute('aria-selected', 'true');
    this.#list.setAttribute('aria-activedescendant', row.id);
    if (follow) this.#scroller.scrollTop = this.#scroller.scrollHeight;
    else row.scrollIntoView({ block: 'nearest' });
  }

  #move(event) {
    const now = this.#rows.findIndex((row) => row.getAttribute('aria-selected') === 'true');
    const last = this.#rows.length - 1;
    const to = { ArrowDown: Math.min(now + 1, last), ArrowUp: Math.max(now - 1, 0), Home: 0, End: last }[
      event.key
    ];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.onSelect(to);
  }

  #gap(milliseconds) {
    const strip = make('div', { class: 'strip' }, ...segments(this.bars.step({ kind: 'gap' })));
    const text = `${(milliseconds / 1000).toFixed(1)} s pass`;
    return make(
      'li',
      { class: 'gap', role: 'presentation' },
      make('span', { class: 'when' }),
      strip,
      make('span', {}, text),
    );
  }

  /** Which owner acted, where that says something; with the key, once there are several. */
  #who({ kind, label, owner }) {
    if (label) this.#labels.add(label);
    if (!owner || !OWNED.includes(kind)) return undefined;
    return this.#labels.size > 1 ? `key ${label}, owner ${owner}` : `owner ${owner}`;
  }

  #strip(happening) {
    const bars = segments(this.bars.step(happening));
    return make('div', { class: 'strip', 'aria-hidden': 'true' }, ...bars, ...drawn(happening));
  }
}

/** Each bar over the height of the row: half of it where it begins or ends here. */
function segments({ before, after }) {
  const ids = new Set([...before, ...after].map(({ id }) => id));
  return [...ids].map((id) => {
    const was = before.find((bar) => bar.id === id);
    const is = after.find((bar) => bar.id === id);
    const { lane, kind, colour, offset } = is ?? was;
    const part = was && is ? '' : is ? 'begins' : 'ends';
    const element = make('i', { class: `bar ${kind} ${colour} ${part}` });
    element.style.setProperty('--lane', laneOf(lane));
    element.style.setProperty('--offset', offset);
    return element;
  });
}

function drawn({ kind, from, to, broken }) {
  const start = laneOf(from);
  const end = to === undefined ? start : laneOf(to);
  const mark = MARKS[kind] && at(make('span', { class: 'mark' }, icon(MARKS[kind])), end);
  if (to === undefined) return [mark];
  const arrow = make('span', { class: `arrow ${end < start ? 'leftward' : ''} ${broken ? 'broken' : ''}` });
  arrow.style.setProperty('--a', Math.min(start, end));
  arrow.style.setProperty('--b', Math.max(start, end));
  return [arrow, at(make('span', { class: 'dot' }), start), ...(mark ? [mark] : [])];
}

function at(element, lane) {
  element.style.setProperty('--lane', lane);
  return element;
}

function words({ title, text, wrote = [] }, who) {
  return make(
    'div',
    { class: 'words' },
    make('strong', {}, title[0].toUpperCase() + title.slice(1)),
    who && make('small', {}, who),
    wrote.length > 0 && make('span', { class: 'wrote' }, ...wrote.map((line) => make('span', {}, line))),
    make('p', {}, text),
  );
}

export function seconds(ms) {
  return `${(ms / 1000).toFixed(2)}`;
}
