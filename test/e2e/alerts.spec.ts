import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { checkoutBody, post } from '../support/checkout.js';
import { scrape, type Scrape } from '../support/metrics.js';
import { openShop, type Shop } from '../support/shop.js';
import { startApi } from '../support/start-api.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string };
}

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const METRIC = /\b(?:checkout|nodejs|process)_\w+/g;

let shop: Shop;
let rules: Rule[];
let exported: Scrape['names'];
beforeAll(async () => {
  shop = await openShop({ ROLE: 'api' });
  const worker = await startApi({ databaseUrl: shop.db.url, ROLE: 'worker' });
  exported = new Set(await namesOf(shop.api.url, worker.url));
  await worker.stop();
  const { groups } = parse(await readFile('deploy/prometheus/alerts.yml', 'utf8')) as {
    groups: { rules: Rule[] }[];
  };
  rules = groups.flatMap((group) => group.rules);
});
afterAll(() => shop.close());

async function namesOf(...urls: string[]): Promise<string[]> {
  const scraped = await Promise.all(urls.map((url) => scrape(url)));
  return scraped.flatMap(({ names }) => [...names]);
}

const unknownIn = (expressions: readonly string[]) => {
  const named = expressions.flatMap((expression) => expression.match(METRIC) ?? []);
  expect(named.length).toBeGreaterThanOrEqual(expressions.length);
  return named.filter((name) => !exported.has(name));
};

describe('An alert', () => {
  it('asks for what is exported', () => {
    expect(rules.length).toBeGreaterThan(5);
    expect(unknownIn(rules.map(({ expr }) => expr))).toEqual([]);
  });

  it('is in the runbook, which says what it means and what to do', async () => {
    const runbook = await readFile('docs/runbook.md', 'utf8');
    const rows = [...runbook.matchAll(/^\| `(Checkout\w+)` \| (.+) \| (.+) \|$/gm)].map(([, alert]) => alert);
    expect(rows).toEqual(rules.map(({ alert }) => alert));
  });

  it('rings for an outbox whose relay has been away for an hour', async () => {
    const { value: before } = await scrape(await freshApi());
    expect(before('checkout_outbox_due_age_seconds')).toBe(0);
    expect((await post(`${shop.api.url}/v1/checkouts`, checkoutBody())).status).toBe(201);
    await shop.db.sql("UPDATE outbox_messages SET due_at = now() - interval '1 h' WHERE due_at IS NOT NULL");
    const { expr } = rules.find(({ alert }) => alert === 'CheckoutOutboxLags')!;
    const [, name, threshold] = /^max\((\w+)\) > (\d+)$/.exec(expr)!;
    const { value } = await scrape(await freshApi());
    expect(value(name!)).toBeGreaterThan(Number(threshold));
  });

  /** One that has not been asked yet: what is read from the database is kept for a moment. */
  async function freshApi(): Promise<string> {
    const api = await startApi({ databaseUrl: shop.db.url, ROLE: 'api' });
    stopping.push(() => api.stop());
    return api.url;
  }
  const stopping: (() => Promise<void>)[] = [];
  afterEach(async () => void (await Promise.all(stopping.splice(0).map((stop) => stop()))));
});

describe('The dashboard', () => {
  it('shows what is exported', async () => {
    const { panels } = JSON.parse(await readFile('deploy/grafana/checkout.json', 'utf8')) as {
      panels: Panel[];
    };
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(expressions.length).toBeGreaterThan(15);
    expect(unknownIn(expressions)).toEqual([]);
  });
});
