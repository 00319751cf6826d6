import { openEventShop, type EventShop } from '../support/event-shop.js';
import { holdLock } from '../support/locks.js';
import {
  deliver,
  eventAbout,
  eventOf,
  hmac,
  intentOf,
  OLD_SECRET,
  secondsNow,
  SECRET,
  signature,
} from '../support/webhooks.js';

let shop: EventShop;
beforeAll(async () => void (shop = await openEventShop()));
afterAll(() => shop.close());
afterEach(() => shop.clean());

describe('A webhook', () => {
  const event = eventAbout({ status: 'succeeded', metadata: { tenant_id: 'acme', charge_id: 'ch_nobody' } });
  const body = JSON.stringify(event);
  const time = secondsNow();

  it('is signed by HMAC-SHA256 of its time and bytes, needs no API key and no Idempotency-Key [W-1, W-14]', async () => {
    const header = `t=${time},v1=${hmac(body, time)}`;
    expect(await deliver(shop.api.url, body, header)).toEqual({ status: 204, code: undefined });
    expect(await shop.inbox()).toMatchObject([{ tenant_id: 'acme', source: 'stripe', id: event['id'] }]);
  });

  it.each([
    ['by the secret that is being replaced', `t=${time},v1=${hmac(body, time, OLD_SECRET)}`],
    ['by both', `t=${time},v1=${hmac(body, time, OLD_SECRET)},v1=${hmac(body, time)}`],
    ['among signatures of others', `t=${time},v1=${'0'.repeat(64)},v1=${hmac(body, time)},v1=x`],
    ['beside other schemes', `t=${time},v0=${hmac(body, time)},v9=x,v1=${hmac(body, time)}`],
  ])('may be signed %s [W-2]', async (_how, header) => {
    expect((await deliver(shop.api.url, body, header)).status).toBe(204);
  });

  const good = hmac(body, time);
  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['no time', `v1=${good}`],
    ['no signature', `t=${time}`],
    ['a time that is none', `t=soon,v1=${good}`],
    ['another time', `t=${time - 1},v1=${good}`],
    ['no structure', good],
    ['only another scheme', `t=${time},v0=${good}`],
    ['another secret', `t=${time},v1=${hmac(body, time, 'whsec_of_another')}`],
    ['the secret without its prefix', `t=${time},v1=${hmac(body, time, SECRET.slice(6))}`],
    ['upper-case digits', `t=${time},v1=${good.toUpperCase()}`],
    ['a shorter signature', `t=${time},v1=${good.slice(1)}`],
    ['an empty signature', `t=${time},v1=`],
    ['a longer signature', `t=${time},v1=${good}0`],
    ['a signature of other bytes than text', `t=${time},v1=${'é'.repeat(32)}`],
    ['a time long past', signature(body, { time: time - 310 })],
    ['a time to come', signature(body, { time: time + 310 })],
  ])('with %s is refused, and leaves no trace [W-4, W-5, W-6]', async (_what, header) => {
    const answer = await deliver(shop.api.url, body, header && encodeURI(header));
    expect(answer).toEqual({ status: 400, code: 'webhook_signature_invalid' });
    expect(await shop.inbox()).toEqual([]);
  });

  it.each([
    ['written anew', JSON.stringify(JSON.parse(body), null, 1)],
    ['with a byte more', `${body}\n`],
    ['of another event', body.replace('evt_', 'evt_x')],
    ['left out', ''],
  ])('whose body is %s is refused: the bytes are what is signed [W-3]', async (_what, other) => {
    expect(await deliver(shop.api.url, other, `t=${time},v1=${good}`)).toEqual({
      status: 400,
      code: 'webhook_signature_invalid',
    });
    expect(await shop.inbox()).toEqual([]);
  });

  it.each(['', 'hello', '{"id":"evt_1"}', `[${body}]`])(
    'that is signed and no event is told so, and leaves no trace: %j',
    async (text) => {
      const answer = await deliver(shop.api.url, text, signature(text));
      expect(answer).toEqual({ status: 400, code: 'webhook_not_an_event' });
      expect(await shop.inbox()).toEqual([]);
    },
  );

  it('is signed over bytes that JSON would write otherwise [W-3]', async () => {
    const spaced = `{ "data" : ${JSON.stringify(event['data'])},\n "id":"evt_spaced", "type":"payment_intent.succeeded", "text":"\\u00e9é" }`;
    expect((await deliver(shop.api.url, spaced, signature(spaced))).status).toBe(204);
    expect(await shop.inbox()).toHaveLength(1);
  });

  it.each([
    ['of an unknown type', eventOf('payment_intent.dreamt', { id: 'pi_1' })],
    ['about an object without our metadata', eventAbout({ status: 'succeeded', metadata: {} })],
    [
      'about an object of a tenant that we do not have',
      eventAbout({ status: 'succeeded', metadata: { tenant_id: 'nobody', charge_id: 'ch_1' } }),
    ],
  ])('%s gets 2xx, and nothing is stored [W-12]', async (_what, about) => {
    expect(await shop.told(about)).toBe(204);
    expect(await shop.inbox()).toEqual([]);
  });

  it('with U+0000 in it is stored so that it can be read', async () => {
    const metadata = { tenant_id: 'acme', charge_id: 'ch_\0' };
    expect(await shop.told(eventAbout({ status: 'succeeded', metadata }))).toBe(204);
    const [row] = await shop.db.sql("SELECT payload -> 'news' ->> 'chargeId' AS charge FROM inbox_messages");
    expect(row).toEqual({ charge: 'ch_\ufffd' });
  });

  it('is answered before it takes effect, whatever holds that up [W-10]', async () => {
    const { body: paid } = await shop.checkout();
    const release = await holdLock(shop.db, 'orders, charges');
    expect(await shop.told(eventAbout(await intentOf(shop.provider, paid.charge.id)))).toBe(204);
    expect(await shop.inbox()).toMatchObject([{ applied_at: null, attempts: 0 }]);
    await release();
    expect(await shop.consume()).toMatchObject({ applied: 1 });
  });
});
