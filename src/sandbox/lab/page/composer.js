import { byId, make } from './dom.js';

/** A recipe, as a text with gaps to choose from. `[kind]` is a gap. */
const TEXT = `A client [clicks] with [key] and [ref]. It pays with [card], and [client].
Afterwards it [then].
The service [service]. The provider [provider], and [webhook]. The mail server [mail].`;

export class Composer {
  constructor(choices, onChange) {
    this.form = byId('composer');
    const gap = (kind) =>
      make(
        'select',
        { name: kind, 'aria-label': kind, onchange: () => onChange(this.recipe) },
        ...Object.entries(choices[kind]).map(([choice, words]) => make('option', { value: choice }, words)),
      );
    for (const line of TEXT.split('\n')) {
      const parts = line.split(/\[(\w+)\]/).map((part, index) => (index % 2 === 1 ? gap(part) : part));
      this.form.append(make('p', {}, ...parts));
    }
  }

  get recipe() {
    return Object.fromEntries(new FormData(this.form));
  }

  show(recipe) {
    this.form.hidden = recipe === undefined;
    if (!recipe) return;
    for (const select of this.form.querySelectorAll('select'))
      select.value = recipe[select.name] ?? select.options[0].value;
  }
}
