import { readFileSync } from 'node:fs';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { expectDescribed } from '../../support/described.js';
import { spawnApi, type SpawnedApi } from '../../support/start-api.js';

const described = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));

const operations = Object.entries<any>(described.paths).flatMap(([path, item]) =>
  Object.entries<any>(item).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path,
    operation,
  })),
);

const keyOf = ({ parameters }: any) => parameters.find(({ name }: any) => name === 'Idempotency-Key');

describe('The documentation', () => {
  let db: TestDatabase;
  let api: SpawnedApi;
  beforeAll(async () => {
    db = await createTestDatabase();
    api = await spawnApi({ databaseUrl: db.url });
  });
  afterAll(async () => {
    await api.stop();
    await db.drop();
  });

  it('is a page that loads nothing from anywhere else', async () => {
    const page = await fetch(`${api.url}/docs`);
    const html = await page.text();
    const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)]
      .map(([, link]) => link!)
      .filter((link) => !link.startsWith('data:'));
    expect(links.length).toBeGreaterThan(2);
    for (const link of links) {
      const { status, headers } = await fetch(new URL(link, api.url));
      expect([link, status]).toEqual([link, 200]);
      expect(headers.get('content-type')).toMatch(link.endsWith('.css') ? /css/ : /javascript/);
    }
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(html).not.toMatch(/<script>|style=|https?:/);
  });

  it('describes the API as OpenAPI, with how to authenticate and what a problem is', async () => {
    const document = (await (await fetch(`${api.url}/docs/openapi.json`)).json()) as Record<string, never>;
    expect(document).toMatchObject({
      openapi: expect.stringMatching(/^3\./),
      components: {
        securitySchemes: { bearer: { scheme: 'bearer' } },
        schemas: { Problem: { type: 'object' } },
      },
    });
    expect(Object.keys(document['paths'] ?? {}).some((path) => path.startsWith('/health'))).toBe(false);
  });

  it('is served as docs/openapi.json has it', async () => {
    const served = await (await fetch(`${api.url}/docs/openapi.json`)).json();
    expect(served).toEqual(described);
  });

  it('shows the Idempotency-Key, its limits, scope and retention on the routes that need one, and on no other', () => {
    const keyed = operations.filter(({ operation }) => keyOf(operation));
    expect(keyed.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      'POST /v1/charges',
      'POST /v1/charges/{id}/refunds',
      'POST /v1/checkouts',
      'POST /v1/orders',
    ]);
    for (const { operation } of keyed) {
      expect(keyOf(operation)).toMatchObject({ required: true, schema: { minLength: 1, maxLength: 255 } });
      for (const word of ['tenant', 'RFC 8785', 'Stored', '72 hours', 'personal data'])
        expect(keyOf(operation).description).toContain(word);
      expect(Object.keys(operation.responses['201'].headers)).toEqual(
        expect.arrayContaining(['Idempotency-Key', 'Idempotent-Replayed', 'Original-Request']),
      );
      expect(Object.keys(operation.responses['409'].headers)).toEqual(
        expect.arrayContaining(['Retry-After', 'Should-Retry']),
      );
    }
    expect(described['x-idempotency-key']).toEqual({
      header: 'Idempotency-Key',
      minLength: 1,
      maxLength: 255,
      scope: 'tenant',
      retentionHours: 72,
    });
  });

  it('has for every answer of every route an example, each problem under its own code and status', () => {
    for (const { method, path, operation } of operations) {
      for (const [status, { content }] of Object.entries<any>(operation.responses)) {
        const where = `${method} ${path} ${status}`;
        if (status === '204') continue;
        const examples = Object.entries<any>(content['application/problem+json']?.examples ?? {});
        expect([where, examples.length > 0 || content['application/json']?.example !== undefined]).toEqual([
          where,
          true,
        ]);
        for (const [code, { $ref }] of examples) {
          const { value } = described.components.examples[$ref.split('/').at(-1)];
          expect([where, value.code]).toEqual([where, code]);
          if (status !== 'default') expect([where, String(value.status)]).toEqual([where, status]);
        }
      }
    }
  });

  describe('holds the tests to it', () => {
    const answer = (changes: object) => ({
      method: 'get',
      url: 'http://127.0.0.1/v1/orders/ord_1',
      status: 404,
      contentType: 'application/problem+json; charset=utf-8',
      body: described.components.examples.order_not_found.value,
      ...changes,
    });

    it('where they get what it tells of', () => {
      expect(() => expectDescribed(answer({}))).not.toThrow();
    });

    it.each([
      ['a status', { status: 410 }],
      ['a code', { body: { ...described.components.examples.order_not_found.value, code: 'gone' } }],
      ['a media type', { contentType: 'text/html' }],
      ['a shape', { body: { code: 'order_not_found' } }],
      ['a body', { status: 200, contentType: 'application/json', body: { id: 'ord_1' } }],
    ])('and not where they get %s that it does not know', (_what, changes) => {
      expect(() => expectDescribed(answer(changes))).toThrow('docs/openapi.json');
    });
  });
});
