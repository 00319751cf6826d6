import { byId, make } from './dom.js';

const FIELDS = [
  'tenant',
  'key',
  'status',
  'recovery_point',
  'owner',
  'version',
  'attempts',
  'locked_until',
  'derived_key',
  'in_doubt',
  'reply_status',
  'last_error',
];

/** The row of the key as it is, or was when the chosen thing happened. What has changed lights up. */
export class RowPanel {
  #cells = new Map();
  #values = {};
  #lease = null;

  constructor(colours, onKey) {
    this.colours = colours;
    this.onKey = onKey;
    for (const field of FIELDS) {
      const cell = make('dd', {}, '–');
      this.#cells.set(field, cell);
      byId('row').append(make('div', {}, make('dt', {}, field), cell));
    }
    setInterval(() => this.#tick(), 100);
  }

  /** @param live whether the lease goes on running while one looks */
  show({ key, keys, live, now }) {
    this.#tabs(key, keys);
    this.#lease = live && key?.leaseUntil != null ? { until: key.leaseUntil, now } : null;
    for (const [field, text] of Object.entries(valuesOf(key))) this.#set(field, text);
    const owner = this.#cells.get('owner');
    owner.className = key ? this.colours.of(key.label, key.owner) : '';
    this.#cells.get('locked_until').className = this.#lease ? `held ${owner.className}` : '';
    this.#tick();
  }

  #tabs(key, keys) {
    const tabs = Object.values(keys).map(({ label, tenant }) =>
      make(
        'button',
        { type: 'button', 'aria-pressed': String(label === key?.label), onclick: () => this.onKey(label) },
        `Key ${label}`,
        make('small', {}, tenant),
      ),
    );
    if (tabs.length > 0) byId('keys').replaceChildren(...tabs);
    else byId('keys').replaceChildren(make('span', { class: 'none' }, 'no key yet'));
  }

  #set(field, text) {
    const cell = this.#cells.get(field);
    cell.textContent = text;
    const before = this.#values[field];
    this.#values[field] = text;
    if (before === text || before === undefined || text === '–') return;
    cell.title = text;
    cell.parentElement.classList.remove('changed');
    void cell.offsetWidth; // so that the light goes on again
    cell.parentElement.classList.add('changed');
  }

  #tick() {
    if (!this.#lease) return;
    const left = (this.#lease.until - this.#lease.now()) / 1000;
    const cell = this.#cells.get('locked_until');
    cell.textContent = left > 0 ? `${left.toFixed(1)} s left` : 'over: free to take';
    cell.style.setProperty('--left', Math.max(0, Math.min(1, left / 5)));
  }
}

function valuesOf(key) {
  if (!key) return Object.fromEntries(FIELDS.map((field) => [field, '–']));
  const { leaseUntil } = key;
  return {
    tenant: key.tenant,
    key: key.key,
    status: key.status,
    recovery_point: key.recoveryPoint,
    owner: key.owner === 0 ? 'nobody' : `owner ${key.owner} (${key.heldBy})`,
    version: String(key.version),
    attempts: String(key.attempts),
    locked_until: leaseUntil === null ? 'null' : `at ${(leaseUntil / 1000).toFixed(2)} s`,
    derived_key: key.derivedKey ?? 'null',
    in_doubt: String(key.inDoubt),
    reply_status: key.replyStatus === null ? 'null' : String(key.replyStatus),
    last_error: key.lastError ?? 'null',
  };
}
