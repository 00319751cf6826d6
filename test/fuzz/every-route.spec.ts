import fc from 'fast-check';
import { expectLedgersAgree } from '../support/refunds.js';
import { thoroughly } from '../support/thoroughly.js';
import { bytesOf, filledIn, requestsOf, type Draft } from './requests.js';
import { ROUTES, type Route } from './routes.js';
import { openTarget, type Target } from './target.js';
import { expectSafe } from './verdict.js';
import { exchange } from './wire.js';

/** `npm run test:fuzz` sends more of them. SEED=… sends again what a printed seed has sent. */
const { FUZZ_REQUESTS = thoroughly ? '20000' : '1500', SEED = String(Date.now() % 2 ** 31) } = process.env;
const perRoute = Math.ceil(Number(FUZZ_REQUESTS) / ROUTES.length);
const seed = Number(SEED);

/** How many requests had which answer, route by route. */
const met = new Map<string, Map<number, number>>();

function count({ name }: Route, status: number): void {
  const statuses = met.get(name) ?? new Map<number, number>();
  met.set(name, statuses.set(status, (statuses.get(status) ?? 0) + 1));
}

let target: Target;
let slowest = 0;
beforeAll(async () => void (target = await openTarget()));
afterAll(async () => {
  await target.shop.close();
  process.stdout.write(summary());
});

describe('Whatever is sent to a route is answered by a result or a refusal that changes nothing', () => {
  it.each(ROUTES.map((route, index) => [route.name, route, index] as const))(
    '%s',
    async (_name, route, index) => {
      await target.stock();
      await target.written();
      const ids = await target.ids();
      const property = fc.asyncProperty(requestsOf(route), (draft) => send(route, draft, ids));
      await fc.assert(property, { numRuns: perRoute, seed: seed + index, verbose: fc.VerbosityLevel.None });
      const statuses = [...met.get(route.name)!.keys()];
      if (thoroughly) expect(statuses.filter((status) => status < 300)).not.toEqual([]); // it was let in, and not only turned away
      expect(statuses.filter((status) => status >= 400)).not.toEqual([]);
    },
    perRoute * 100 + 30_000,
  );
});

describe('Afterwards', () => {
  it('no request has waited long, and the service is as ready as before', async () => {
    expect(slowest).toBeLessThan(5_000);
    const asked = performance.now();
    expect((await fetch(`${target.shop.api.url}/health/ready`)).status).toBe(200);
    expect(performance.now() - asked).toBeLessThan(2_000);
  });

  it('the books agree with the provider', () => expectLedgersAgree(target.shop.db, target.shop.provider));
});

async function send(route: Route, draft: Draft, ids: Parameters<typeof filledIn>[1]): Promise<void> {
  const began = performance.now();
  const bytes = bytesOf(draft, ids);
  const answers = await exchange(target.shop.api.url, bytes, draft.method === 'HEAD');
  slowest = Math.max(slowest, performance.now() - began);
  const written = await target.written();
  try {
    expect(answers.length).toBe(1);
    const [answer] = answers;
    count(route, answer!.status);
    await expectSafe({ ...draft, target: filledIn(draft.target, ids) }, answer!, written);
  } catch (error) {
    const said = answers.map(({ status, body }) => `${status} ${body.slice(0, 400)}`).join('\n');
    throw new Error(`${(error as Error).message}\n${bytes.toString('latin1').slice(0, 1_500)}\n${said}`, {
      cause: error,
    });
  }
}

function summary(): string {
  const total = new Map<number, number>();
  const lines = [...met].map(([name, statuses]) => {
    for (const [status, times] of statuses) total.set(status, (total.get(status) ?? 0) + times);
    return `  ${name}: ${counts(statuses)}\n`;
  });
  const sent = [...total.values()].reduce((sum, times) => sum + times, 0);
  return `fuzz: ${sent} requests, seed ${seed}, slowest ${Math.round(slowest)} ms: ${counts(total)}\n${thoroughly ? lines.join('') : ''}`;
}

function counts(statuses: ReadonlyMap<number, number>): string {
  const sorted = [...statuses].sort(([a], [b]) => a - b);
  return sorted.map(([status, times]) => `${status} × ${times}`).join(', ');
}
