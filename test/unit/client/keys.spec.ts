import { batchKey, sendInBatch, type AttemptNumbers } from '../../../src/client/batch.js';
import { isFinalFailure, newKey, nextKey } from '../../../src/client/keys.js';
import { parseIdempotencyKey } from '../../../src/idempotency/idempotency-key.js';

const answer = (status: number, code?: string) => ({
  response: new Response(null, { status }),
  ...(code && { error: { code } }),
});

describe("A customer's key", () => {
  it('is random, and one that the service takes', () => {
    const keys = Array.from({ length: 100 }, newKey);
    expect(new Set(keys).size).toBe(100);
    for (const key of keys) expect(parseIdempotencyKey(key)).toBe(key);
  });

  it('stays the same after no answer, a 5xx, and whatever else may have been done [CL-6]', () => {
    const key = newKey();
    for (const status of [200, 201, 400, 401, 404, 409, 422, 429, 500, 503])
      expect(nextKey(key, answer(status))).toBe(key);
    expect(nextKey(key, answer(409, 'order_payment_in_progress'))).toBe(key);
    expect(nextKey(key, undefined)).toBe(key);
  });

  it('is a new one after a final failure [CL-5]', () => {
    const key = newKey();
    expect(nextKey(key, answer(402, 'card_declined'))).not.toBe(key);
    expect(nextKey(key, answer(409, 'checkout_voided'))).not.toBe(key);
    expect(isFinalFailure(answer(422, 'idempotency_key_mismatch'))).toBe(false); // a mistake of the caller's
  });
});

describe("A batch's key", () => {
  const step = { businessId: 'invoice-1001', step: 'pay' };

  it('names the thing, the step and the number, as the service takes it', () => {
    expect(batchKey(step, 1)).toBe('invoice-1001:pay:1');
    expect(parseIdempotencyKey(batchKey({ businessId: '2026/01/A.7', step: 'refund' }, 12))).toBe(
      '2026/01/A.7:refund:12',
    );
  });

  it.each([
    ['empty', { ...step, businessId: '' }, 1],
    ['an address', { ...step, businessId: 'ada@example.com' }, 1],
    ['ambiguous', { businessId: 'a:b', step: 'c' }, 1],
    ['ambiguous', { businessId: 'a', step: 'b:c' }, 1],
    ['not ASCII', { ...step, businessId: 'ärger' }, 1],
    ['too long', { ...step, businessId: 'x'.repeat(250) }, 1],
    ['number 0', step, 0],
    ['number 1.5', step, 1.5],
  ])('is refused where it is %s', (_why, parts, n) => {
    expect(() => batchKey(parts, n)).toThrow(RangeError);
  });

  /** Numbers in memory, and what happened to them in which order. */
  function numbers(): AttemptNumbers & { log: string[] } {
    let present = 0;
    const log: string[] = [];
    return {
      log,
      current: async () => {
        if (present === 0) log.push(`saved ${(present = 1)}`);
        return present;
      },
      raise: async (_step, from) => {
        if (present === from) log.push(`saved ${++present}`);
      },
    };
  }

  it('is saved before anything is sent, and raised after a final failure only [CL-1, CL-5, CL-6]', async () => {
    const saved = numbers();
    const run = (status: number | 'lost') =>
      sendInBatch(saved, step, async (key) => {
        saved.log.push(`sent ${key}`);
        if (status === 'lost') throw new Error('no answer');
        return answer(status);
      });
    await expect(run('lost')).rejects.toThrow('no answer');
    await run(503);
    await run(402);
    await run(201);
    await run(201);
    expect(saved.log).toEqual([
      'saved 1',
      'sent invoice-1001:pay:1',
      'sent invoice-1001:pay:1',
      'sent invoice-1001:pay:1',
      'saved 2',
      'sent invoice-1001:pay:2',
      'sent invoice-1001:pay:2',
    ]);
  });

  it('is raised once by two runs that saw the same failure', async () => {
    const saved = numbers();
    const run = () => sendInBatch(saved, step, async () => answer(402));
    await Promise.all([run(), run()]);
    expect(await saved.current(step)).toBe(2);
  });
});
