import { SCENARIOS } from '../../src/sandbox/lab/scenarios.js';
import type { Verdict } from '../../src/sandbox/lab/events.js';
import { missingInOrder } from './in-order.js';
import { play, startLab, verdicts, type StartedLab } from './lab.js';

/** What each scenario must come to, act by act: orders, charges at the provider, receipts, and whether that is right. */
const MUST_BE: Record<string, [orders: number, charges: number, receipts: number, right: boolean][]> = {
  'happy-path': [[1, 1, 1, true]],
  'answer-lost': [[1, 1, 1, true]],
  declined: [[1, 0, 0, true]],
  'double-click': [[1, 1, 1, true]],
  'double-click-two-keys': [
    [2, 2, 2, false],
    [1, 1, 1, true],
  ],
  'key-per-attempt': [
    [2, 2, 2, false],
    [1, 1, 1, true],
  ],
  'key-per-session': [
    [1, 1, 1, false],
    [2, 2, 2, true],
  ],
  'another-body': [[1, 1, 1, true]],
  'another-tenant': [[2, 2, 2, true]],
  'expired-key': [
    [2, 2, 2, false],
    [1, 1, 1, true],
  ],
  'crash-after-order': [[1, 1, 1, true]],
  'crash-after-charge': [[1, 1, 1, true]],
  'crash-before-answer': [[1, 1, 1, true]],
  'slow-original': [[1, 1, 1, true]],
  'client-gone': [[1, 1, 1, true]],
  'webhook-rescue': [[1, 1, 1, true]],
  'last-phase-fails': [[1, 1, 1, true]],
  'timeout-charged': [[1, 1, 1, true]],
  'timeout-not-charged': [[1, 1, 1, true]],
  'mail-down': [[1, 1, 1, true]],
};

/** What must be seen on the way, in this order, by the beginnings of the titles. */
const MUST_SHOW: Record<string, string[]> = {
  'happy-path': ['request 1', 'COMMIT → order_created', 'charge', 'succeeded', 'COMMIT → finished', '201'],
  'answer-lost': ['COMMIT → finished', 'no answer', 'request 2', '201 to request 2, replayed'],
  declined: [
    '402 declined',
    'COMMIT → finished',
    '402 to request 1',
    'request 2',
    '402 to request 2, replayed',
  ],
  'double-click': ['409 to request', '201 to request'],
  'another-body': ['201 to request 1', '422 to request 2'],
  'expired-key': [
    '73 hours pass',
    'COMMIT → order_created',
    '73 hours pass',
    '409 to request 2, external_ref_taken',
  ],
  'crash-after-order': [
    'COMMIT → order_created',
    'process killed',
    'the lease is over',
    'takeover',
    'charge',
    'COMMIT → finished',
  ],
  'crash-after-charge': [
    'succeeded',
    'process killed',
    'takeover',
    'charge, once more',
    'succeeded, as before',
  ],
  'crash-before-answer': [
    'succeeded',
    'process killed',
    'takeover',
    'succeeded, as before',
    'COMMIT → finished',
  ],
  'slow-original': [
    'request 1 hangs',
    'the lease is over',
    'takeover',
    'COMMIT → finished',
    'fence: 0 rows',
    '201 to request 1, replayed',
  ],
  'client-gone': [
    'process killed',
    'the client is gone',
    'completer takes over',
    'COMMIT → finished',
    'receipt',
  ],
  'webhook-rescue': ['process killed', 'the lease is over', 'COMMIT → finished'], // on a slow day the completer is first
  'last-phase-fails': ['COMMIT → charge_created', 'COMMIT → finished'],
  'timeout-charged': ['no answer', 'charge, once more', '409 in use', 'look-up', 'COMMIT → finished'],
  'timeout-not-charged': ['no answer', 'key released', '503 to request 1', 'takeover', 'succeeded'],
  'mail-down': ['201 to request 1', 'receipt put off', 'receipt put off', 'receipt put off', 'receipt'],
};

describe('A scenario of the lab', () => {
  let lab: StartedLab;
  beforeAll(async () => {
    lab = await startLab();
  });
  afterAll(() => lab.stop());

  it.each(SCENARIOS.map(({ id }) => id))(
    'reaches its verdict by itself, with the right numbers: %s',
    async (id) => {
      const messages = await play(lab.url, { scenario: id });
      expect(messages.at(-1)).toEqual({ type: 'end', error: null });
      expect(verdicts(messages).map(numbers)).toEqual(MUST_BE[id]);
      expect(missingInOrder(messages, MUST_SHOW[id] ?? [])).toEqual([]);
    },
  );

  it('leaves no fault behind', async () => {
    await play(lab.url, { recipe: { provider: 'down', mail: 'down', webhook: 'lost' } });
    const [verdict] = verdicts(await play(lab.url, { scenario: 'happy-path' }));
    expect(verdict).toMatchObject({ right: true, tally: { calls: 1 } });
  });
});

function numbers({ tally, right }: Verdict) {
  return [tally.orders, tally.charges, tally.receipts, right];
}
