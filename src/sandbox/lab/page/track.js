import { breakable, byId, make } from './dom.js';

/** The recovery points of a checkout, and what leads from one to the next. */
const STATIONS = [
  { point: 'started', text: 'The request is here. Nothing is written yet.', leg: 'write the order' },
  { point: 'order_created', text: 'Order and intent to charge are on disk.', leg: 'ask the provider' },
  { point: 'charge_created', text: 'What the provider said is on disk.', leg: 'write the books' },
  { point: 'finished', text: 'Books and answer are on disk.' },
];

const NOW = {
  idle: 'A recovery point is where the next one continues. Run a scenario and watch the key move along.',
  started: 'If the process died now: nothing is written, so nothing has happened.',
  order_created:
    'If the process died now: the next owner would find the order, and ask the provider under the same key.',
  charge_created:
    'If the process died now: the next owner would know of the charge, and only write the books.',
  finished: 'If the process died now: nothing would be lost. Every retry is sent the stored answer.',
};

/** The track: the stations of the key, with the present one lit. */
export class Track {
  #stations;

  constructor() {
    this.#stations = STATIONS.map(({ point, text, leg }) =>
      make(
        'li',
        { class: 'station', 'data-point': point },
        make('span', { class: 'lamp', 'aria-hidden': 'true' }),
        leg !== undefined && make('span', { class: 'leg' }, make('span', {}, leg)),
        make('span', { class: 'name' }, ...breakable(point)),
        make(
          'span',
          { class: 'means' },
          make('span', {}, text),
          make('span', {}, 'Passed inside the same commit.'),
        ),
      ),
    );
    byId('track').append(...this.#stations);
  }

  show({ key, visited, requested, dead, calling, colour }) {
    const point = key?.recoveryPoint ?? (requested ? 'started' : undefined);
    const now = STATIONS.findIndex((station) => station.point === point);
    this.#stations.forEach((station, index) => {
      const was = index < now && !skipped(index, point, visited);
      station.className = [
        'station',
        index === now ? `lit ${colour}` : was ? 'passed' : '',
        index === now && dead ? 'dead' : '',
        index < now && !was ? 'skipped' : '',
        index === 1 && calling && index === now ? 'calling' : '',
      ].join(' ');
      if (index === now) station.setAttribute('aria-current', 'step');
      else station.removeAttribute('aria-current');
    });
    byId('now').textContent = sentence(point, key, dead);
  }
}

/** `charge_created` is passed inside the last commit while all goes well: no row has ever said so. */
function skipped(index, point, visited) {
  return (
    STATIONS[index].point === 'charge_created' && point === 'finished' && !visited?.has('charge_created')
  );
}

function sentence(point, key, dead) {
  if (point === undefined) return NOW.idle;
  if (dead && point === 'started')
    return 'The process is dead, and nothing was written: nothing has happened.';
  if (dead) return `The process is dead. But the row is not: whoever comes next continues at ${point}.`;
  if (key?.status === 'in_progress' && key.owner === 0)
    return `Nobody holds the key. Whoever comes next continues at ${point}.`;
  return NOW[point] ?? '';
}
