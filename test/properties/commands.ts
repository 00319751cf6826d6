import fc from 'fast-check';
import { CALL_FAULTS, LOOKUP_FAULTS } from '../../src/sandbox/mock-provider/faults.js';
import { checkoutBody } from '../support/checkout.js';
import { ACME, GLOBEX } from '../support/start-api.js';
import type { Ask, KnownKey, Model } from './model.js';
import type { World } from './world.js';

/** One thing that may happen. */
export class Event implements fc.AsyncCommand<Model, World> {
  constructor(
    private readonly name: string,
    private readonly happen: (model: Model, world: World) => Promise<void>,
    private readonly isPossible: (model: Model) => boolean = () => true,
  ) {}

  check(model: Readonly<Model>): boolean {
    return this.isPossible(model as Model);
  }

  run(model: Model, world: World): Promise<void> {
    return this.happen(model, world);
  }

  toString(): string {
    return this.name;
  }
}

const event = (name: string, happen: (world: World) => Promise<void>): fc.Arbitrary<Event> =>
  fc.constant(new Event(name, (_model, world) => happen(world)));

/** Few, so that they meet. */
const tenant = fc.constantFrom(ACME.key, GLOBEX.key);
const keyName = fc.constantFrom('a', 'b', 'c', 'd', 'e');
/** Now and then a key that was meant for something else. */
const laterKeyName = fc.constantFrom('a', 'x', 'y', 'z');
const nth = fc.nat(9);

const card = fc.constantFrom(
  'pm_card_visa',
  'pm_card_visa',
  'pm_card_chargeDeclined',
  'pm_card_authenticationRequired',
  'pm_card_pendingRefund',
);
const FIRST_POINT = { checkout: 'order_created', charge: 'charge_intended', refund: 'refund_reserved' };

/** Where the service breaks while it works on a request; `%` stands for the first recovery point. */
const point = fc.constantFrom(
  'phase.before_commit:%',
  'phase.after_commit:%',
  'call.before',
  'call.after',
  'phase.before_commit:finished',
  'phase.after_commit:finished',
);
const fault = fc.option(
  fc.oneof(
    fc.tuple(point, fc.constantFrom('throw', 'drop_db')),
    fc.tuple(
      fc.constantFrom('phase.before_commit:%', 'phase.before_commit:finished'),
      fc.constant('lose_commit_answer'),
    ),
    fc.tuple(fc.constant('reply.before_send'), fc.constant('lose_reply')),
  ),
  { nil: undefined, freq: 2 },
);
type Fault = readonly [string, string] | undefined;

function header(kind: Ask['kind'], [where, action]: NonNullable<Fault>): string {
  const step = kind === 'refund' ? 'refund' : 'charge';
  const named = where.startsWith('call.') ? `${where}:${step}` : where.replace('%', FIRST_POINT[kind]);
  return `${named}=${action}`;
}

function send(world: World, key: KnownKey, ask: Ask, broken?: Fault): Promise<void> {
  return key.ask(ask, () => world.send(key, ask, broken && header(ask.kind, broken)));
}

const checkout = (paymentMethod: string): Ask => ({
  kind: 'checkout',
  path: '/v1/checkouts',
  body: checkoutBody({ paymentMethod }),
});

const textOf = (broken: Fault) => (broken ? ` (${broken.join('=')})` : '');

const checkouts = fc
  .tuple(tenant, keyName, card, fault)
  .map(
    ([apiKey, name, paymentMethod, broken]) =>
      new Event(`checkout ${apiKey} ${name} ${paymentMethod}${textOf(broken)}`, (model, world) =>
        send(world, model.key(apiKey, name), checkout(paymentMethod), broken),
      ),
  );

const any = <T>(items: readonly T[], n: number): T => items[n % items.length]!;
const somethingWasAsked = (model: Model) => model.used().length > 0;

const retries = fc.tuple(nth, fault).map(
  ([n, broken]) =>
    new Event(
      `retry ${n}${textOf(broken)}`,
      (model, world) => {
        const key = any(model.used(), n);
        return send(world, key, any(key.asked, n), broken);
      },
      somethingWasAsked,
    ),
);

const changedBodies = nth.map(
  (n) =>
    new Event(
      `same key, another body ${n}`,
      (model, world) => {
        const key = any(checkoutsOf(model), n);
        const { body, ...ask } = any(key.asked, n);
        return send(world, key, { ...ask, body: { ...body, metadata: { changed: 'yes' } } });
      },
      (model) => checkoutsOf(model).length > 0,
    ),
);

const otherTenants = nth.map(
  (n) =>
    new Event(
      `same key and body, another tenant ${n}`,
      (model, world) => {
        const { apiKey, name, asked } = any(checkoutsOf(model), n);
        return send(world, model.key(apiKey === ACME.key ? GLOBEX.key : ACME.key, name), asked[0]!);
      },
      (model) => checkoutsOf(model).length > 0,
    ),
);

const checkoutsOf = (model: Model) => model.used().filter(({ asked }) => asked[0]!.kind === 'checkout');

/** Orders that were answered for, with whose they are. */
const ordersOf = (model: Model) =>
  checkoutsOf(model).flatMap(({ apiKey, reply }) =>
    reply ? [{ apiKey, orderId: (reply.body.order?.id ?? reply.body.orderId) as string }] : [],
  );

const charges = fc.tuple(nth, laterKeyName, card, fault).map(
  ([n, name, paymentMethod, broken]) =>
    new Event(
      `charge order ${n}, key ${name}, ${paymentMethod}${textOf(broken)}`,
      (model, world) => {
        const { apiKey, orderId } = any(ordersOf(model), n);
        const body = { orderId, paymentMethod };
        return send(world, model.key(apiKey, name), { kind: 'charge', path: '/v1/charges', body }, broken);
      },
      (model) => ordersOf(model).length > 0,
    ),
);

/** Charges that their clients know to have succeeded. */
const paidOf = (model: Model) =>
  model
    .finished()
    .map(({ apiKey, reply }) => ({ apiKey, charge: reply!.body.charge ?? reply!.body }))
    .filter(({ charge }) => charge.orderId !== undefined && charge.status === 'succeeded');

const refunds = fc.tuple(nth, laterKeyName, fc.constantFrom({}, { amount: 500 }, { amount: 900 }), fault).map(
  ([n, name, body, broken]) =>
    new Event(
      `refund charge ${n}, key ${name}, ${JSON.stringify(body)}${textOf(broken)}`,
      (model, world) => {
        const { apiKey, charge } = any(paidOf(model), n);
        const path = `/v1/charges/${charge.id}/refunds`;
        return send(world, model.key(apiKey, name), { kind: 'refund', path, body }, broken);
      },
      (model) => paidOf(model).length > 0,
    ),
);

/** Slowness has its own event, with a delay that is worth a schedule's time. */
const PROVIDER_FAULTS = [...CALL_FAULTS, ...LOOKUP_FAULTS].filter((kind) => kind !== 'delay');

const providerFaults = fc
  .tuple(fc.constantFrom(...PROVIDER_FAULTS), fc.constantFrom(1, 2, 3))
  .map(
    ([kind, times]) =>
      new Event(`provider: ${kind} × ${times}`, (_model, { shop }) => shop.provider.fault(kind, { times })),
  );
const slowProvider = event('provider: slow', ({ shop }) => shop.provider.fault('delay', { delayMs: 60 }));
const mailFaults = fc
  .constantFrom('defer' as const, 'drop' as const)
  .map((kind) => new Event(`mail: ${kind}`, (_model, { mailbox }) => mailbox.fault({ kind })));

const leasesEnd = event('leases end', (world) => world.endLeases());
const completer = event('completer', (world) => world.complete());
const relay = event('relay', (world) => world.relay());
const consumer = event('inbox', (world) => world.consume());
const reconciler = event('reconciler', (world) => world.reconcile());
const deliveries = nth.map((n) => new Event(`webhook ${n}`, (_model, world) => world.deliver(n)));
const timePasses = fc
  .constantFrom('succeed' as const, 'fail' as const)
  .map((outcome) => new Event(`customers ${outcome}`, (_model, world) => world.timePasses(outcome)));

/** Only keys whose clients have had their answer, or the model could not tell a retry from a new purchase. */
const expiry = fc.boolean().map(
  (reaped) =>
    new Event(reaped ? 'keys expire, reaper' : 'keys expire', async (model, world) => {
      const waited = new Set(model.waiting().map(({ name }) => name));
      const keys = model.finished().filter(({ name }) => !waited.has(name));
      await world.expire(keys);
      model.forget(keys);
      if (reaped) await world.reap();
    }),
);

const requests = fc.oneof(
  { weight: 4, arbitrary: checkouts },
  { weight: 2, arbitrary: retries },
  { weight: 1, arbitrary: changedBodies },
  { weight: 1, arbitrary: otherTenants },
  { weight: 2, arbitrary: charges },
  { weight: 3, arbitrary: refunds },
);
const work = fc.oneof(completer, relay, deliveries, consumer, reconciler, leasesEnd);
const trouble = fc.oneof(
  providerFaults,
  providerFaults,
  providerFaults,
  slowProvider,
  mailFaults,
  timePasses,
);

/** What overlaps, as far as it is possible at that time. */
const atOnce = fc
  .array(fc.oneof({ weight: 2, arbitrary: requests }, { weight: 1, arbitrary: work }), {
    minLength: 2,
    maxLength: 5,
  })
  .map(
    (events) =>
      new Event(`at once [${events.map(String).join('; ')}]`, async (model, world) => {
        const possible = events.filter((each) => each.check(model));
        const ends = await Promise.allSettled(possible.map((each) => each.run(model, world)));
        for (const end of ends) if (end.status === 'rejected') throw end.reason;
      }),
  );

/** A schedule is any row of these. */
export const EVENTS: fc.Arbitrary<Event>[] = [
  requests,
  requests,
  requests,
  work,
  trouble,
  trouble,
  atOnce,
  atOnce,
  expiry,
];
