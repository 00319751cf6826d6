import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { spawnApi, type SpawnedApi } from '../../support/start-api.js';

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
});
