import { byId, make } from './dom.js';

const time = (at) => new Date(at).toLocaleTimeString('en-GB');
const money = ({ amount, currency }) => `${(amount / 100).toFixed(2)} ${currency.toUpperCase()}`;

/** What is listed, and how one entry of it reads. */
const LISTS = [
  [
    'keys',
    'Keys',
    'No key has been used yet.',
    (key) => [key.key, `${key.status === 'finished' ? key.reply : key.point} · ${key.tenant}`],
  ],
  [
    'orders',
    'Orders',
    'No order yet.',
    (order) => [order.id, `${order.status} · ${money(order)} · ${order.tenant}`],
  ],
  ['mails', 'Mails', 'No mail yet.', (mail) => [mail.subject, mail.to]],
  [
    'letters',
    'Dead letters',
    'None: every mail was taken in the end.',
    (letter) => [letter.topic, letter.error],
  ],
  ['reviews', 'Reviews', 'None: nothing waits for a person.', (review) => [review.reason, review.about]],
];

const PARTS = { api: 'API', worker: 'Worker', database: 'Database', provider: 'Provider', mail: 'Mail' };

/** What is in the service now, whoever brought it there. */
export class Lists {
  #bodies = {};

  constructor() {
    for (const [name, title] of LISTS) {
      const body = make('ul', { tabindex: '0', 'aria-label': title });
      this.#bodies[name] = body;
      byId('lists').append(make('section', { class: 'list' }, make('h3', {}, title), body));
    }
    byId('health').append(
      ...Object.entries(PARTS).map(([name, title]) =>
        make('li', { 'data-part': name, class: 'unknown' }, title),
      ),
    );
  }

  show({ health, lists }) {
    for (const [name, , none, entry] of LISTS) {
      const entries = lists[name] ?? [];
      const lines = entries.map((each) => {
        const [main, rest] = entry(each);
        return make(
          'li',
          {},
          make('span', { title: main }, main),
          make('small', {}, rest),
          make('time', {}, time(each.at)),
        );
      });
      this.#bodies[name].replaceChildren(
        ...(lines.length > 0 ? lines : [make('li', { class: 'none' }, none)]),
      );
    }
    for (const part of byId('health').children) {
      const well = health[part.dataset.part];
      part.className = well ? 'well' : 'away';
      part.title = well ? 'answers' : 'does not answer';
    }
  }

  unknown() {
    for (const part of byId('health').children) part.className = 'unknown';
  }
}
