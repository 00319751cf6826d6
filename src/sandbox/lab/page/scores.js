import { byId, make } from './dom.js';

const COUNTED = [
  ['orders', 'orders'],
  ['charges', 'charges made'],
  ['receipts', 'receipts'],
];

/** What each act comes to, counted while it runs, and the verdict. Room for it is there from the start. */
export class Scores {
  #acts = [];

  prepare({ acts, lesson }) {
    this.#acts = acts.map(({ title }) => this.#act(title));
    byId('scores').replaceChildren(...this.#acts.map(({ element }) => element));
    const text = byId('lesson');
    text.textContent = lesson;
    text.classList.remove('told');
  }

  count(act, tally) {
    const { numbers } = this.#acts[act];
    for (const [name] of COUNTED) numbers[name].textContent = String(tally[name]);
  }

  judge({ act, right, text, tally }) {
    const { element, verdict } = this.#acts[act];
    this.count(act, tally);
    element.classList.add(right ? 'right' : 'wrong');
    verdict.textContent = text;
  }

  end() {
    byId('lesson').classList.add('told');
  }

  #act(title) {
    const numbers = Object.fromEntries(COUNTED.map(([name]) => [name, make('output', {}, '0')]));
    const verdict = make('p', { class: 'verdict' }, 'Counted while it runs; judged at the end.');
    const element = make(
      'li',
      { class: 'score' },
      make('h3', {}, title ?? 'The verdict'),
      make(
        'dl',
        {},
        ...COUNTED.map(([name, words]) =>
          make('div', {}, make('dd', {}, numbers[name]), make('dt', {}, words)),
        ),
      ),
      verdict,
    );
    return { element, numbers, verdict };
  }
}
