import { request } from 'node:http';
import { begin, follow, play, startLab, verdicts, type StartedLab } from './lab.js';

describe('The lab', () => {
  let lab: StartedLab;
  beforeAll(async () => {
    lab = await startLab();
  });
  afterAll(() => lab.stop());

  /** As a browser would send it under another name, which fetch does not let one do. */
  function ask(method: string, path: string, headers: Record<string, string>): Promise<number> {
    return new Promise((resolve, reject) => {
      const sent = request(`${lab.url}${path}`, { method, headers }, (response) => {
        response.resume();
        resolve(response.statusCode!);
      });
      sent.on('error', reject);
      sent.end(method === 'POST' ? '{"scenario":"happy-path"}' : undefined);
    });
  }

  describe('lets nobody in but its own page', () => {
    const json = { 'Content-Type': 'application/json' };

    it('refuses a name that only leads to this machine (DNS rebinding)', async () => {
      expect(await ask('GET', '/', { Host: 'evil.example' })).toBe(403);
      expect(await ask('GET', '/live', { Host: `evil.example:${lab.port}` })).toBe(403);
      expect(await ask('POST', '/runs', { ...json, Host: `evil.example:${lab.port}` })).toBe(403);
    });

    it('refuses what another page sends (CSRF)', async () => {
      expect(await ask('POST', '/runs', { ...json, Origin: 'https://evil.example' })).toBe(403);
      expect(await ask('POST', '/runs', { ...json, Origin: 'null' })).toBe(403);
      expect(await ask('POST', '/runs', { 'Content-Type': 'text/plain' })).toBe(403);
      expect(await ask('POST', '/runs', { ...json, 'Sec-Fetch-Site': 'cross-site' })).toBe(403);
    });

    it('answers to both names of this machine, with a page that may load nothing from elsewhere', async () => {
      expect(await ask('GET', '/', { Host: `localhost:${lab.port}` })).toBe(200);
      const page = await fetch(lab.url);
      expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
      expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    });

    it('has no file but those of the page', async () => {
      for (const path of [
        '/../server.js',
        '/..%2flab.js',
        '/%2e%2e/server.js',
        '/page/',
        '/.env',
        '/constructor',
      ])
        expect(await ask('GET', path, {})).toBe(404);
    });
  });

  describe('runs recipes, and nothing else', () => {
    it.each([
      [{ recipe: { clicks: 'thrice' } }, /clicks is one of once, twice/],
      [{ recipe: { sql: 'DROP TABLE orders' } }, /not "sql"/],
      [{ recipe: { constructor: 'once' } }, /not "constructor"/],
      [{ recipe: [] }, /A recipe is an object/],
      [{ scenario: 'unheard-of' }, /no such scenario/],
      [{ scenario: { id: 'happy-path' } }, /no such scenario/],
    ])('refuses %j', async (what, why) => {
      const response = await begin(lab.url, what);
      expect(response.status).toBe(400);
      expect(((await response.json()) as { error: string }).error).toMatch(why);
    });

    it('judges a recipe of one’s own by what was meant and what was made', async () => {
      const [declined] = verdicts(await play(lab.url, { recipe: { clicks: 'twice', card: 'declined' } }));
      expect(declined).toMatchObject({
        right: true,
        meant: 1,
        tally: { orders: 1, charges: 0, receipts: 0 },
      });
      const [twice] = verdicts(await play(lab.url, { recipe: { clicks: 'twice', key: 'request' } }));
      expect(twice).toMatchObject({ right: false, meant: 1, tally: { orders: 2, charges: 2, receipts: 2 } });
    });
  });

  it('runs one scenario at a time, and lets everybody watch it', async () => {
    const { run } = (await (await begin(lab.url, { scenario: 'mail-down' })).json()) as { run: string };
    const busy = await begin(lab.url, { scenario: 'happy-path' });
    expect(busy.status).toBe(409);
    expect(await busy.json()).toEqual({
      error: 'The lab is busy with “The mail server is down”: one scenario runs at a time.',
      run,
    });
    const [one, other] = await Promise.all([follow(lab.url, run), follow(lab.url, run)]);
    expect(one).toEqual(other);
    expect(await follow(lab.url, run)).toEqual(one); // whoever comes late hears all of it
  });
});
