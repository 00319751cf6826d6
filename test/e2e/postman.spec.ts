import converter from 'openapi-to-postmanv2';
import { readFileSync } from 'node:fs';
import { SANDBOX_OPERATOR_TOKEN } from '../../src/config/published.js';
import { DEMO_TENANTS } from '../../src/sandbox/seed.js';
import { environmentOf } from '../../src/sandbox/services.js';
import { readSettings } from '../../src/sandbox/settings.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  everyItem,
  everyRequest,
  readCollection,
  readEnvironment,
  scriptOf,
  type Collection,
  type Request,
} from '../support/postman.js';
import { startApi, type StartedApi } from '../support/start-api.js';

const collection = readCollection();
const environment = readEnvironment();
const requests = everyRequest(collection);

describe('The Postman collection and the routes of the API', () => {
  let db: TestDatabase;
  let api: StartedApi;
  let described: OpenApi;
  beforeAll(async () => {
    db = await createTestDatabase();
    api = await startApi({ databaseUrl: db.url });
    described = (await (await fetch(`${api.url}/docs/openapi.json`)).json()) as OpenApi;
  });
  afterAll(async () => {
    await api.stop();
    await db.drop();
  });

  it('has a request for every route that the API describes', () => {
    const routes = routesOf(described);
    expect(routes.length).toBeGreaterThan(10);
    expect(routes.filter((route) => !requests.some(({ request }) => goesTo(request, route)))).toEqual([]);
  });

  it('has a request for health, metrics and whatever else the contract lists beside the API', () => {
    const row = readFileSync('docs/contract.md', 'utf8').match(/^\|.*\| operations \|$/m)?.[0] ?? '';
    const paths = [...row.matchAll(/`(\/[\w/.]+)`/g)].map(([, path]) => path!);
    expect(paths.length).toBeGreaterThan(3);
    const addresses = requests.map(({ request }) => addressOf(request));
    expect(paths.filter((path) => !addresses.includes(`{{api}}${path}`))).toEqual([]);
  });

  it('has no request to a route of the API that is not there', async () => {
    const routes = routesOf(described);
    const strangers = requests
      .map(({ request }) => request)
      .filter((request) => addressOf(request).startsWith('{{api}}'))
      .filter((request) => !routes.some((route) => goesTo(request, route)));
    expect(strangers.length).toBeGreaterThan(0); // health and documentation are not described
    for (const request of strangers) {
      const url = addressOf(request).replace('{{api}}', api.url);
      const { status } = await fetch(url, { method: request.method });
      expect([url, status]).toEqual([url, 200]);
    }
  });

  it('is not the only way in: Postman can import what the API says of itself', async () => {
    const imported = await convert(described);
    const paths = everyRequest(imported).map(({ request }) => request);
    expect(routesOf(described).filter((route) => !paths.some((request) => goesTo(request, route)))).toEqual(
      [],
    );
  });
});

describe('The Postman collection', () => {
  it('is of the format that Postman calls v2.1', () => {
    expect(collection.info.schema).toBe(
      'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    );
  });

  it('says of every request and folder what it shows, and tests every request', () => {
    const silent = everyItem(collection.item).filter(
      ({ request, description }) => !(request?.description ?? description),
    );
    const untested = requests.filter(
      (item) => !/pm\.test\(.*pm\.(response|expect)/s.test(scriptOf(item, 'test')),
    );
    expect([...silent, ...untested].map(({ name }) => name)).toEqual([]);
  });

  it('maps every folder in its description', () => {
    const unmapped = collection.item.filter(
      ({ name }) => !collection.info.description.includes(`| ${name.split(/[:,?]/)[0]}`),
    );
    expect(unmapped.map(({ name }) => name)).toEqual([]);
  });

  it('gives every item an id of its own', () => {
    const ids = everyItem(collection.item).map(({ id }) => id);
    expect(ids.filter((id, index) => !id || ids.indexOf(id) !== index)).toEqual([]);
  });

  it('knows every variable that it uses, and uses every one that it has', () => {
    const text = JSON.stringify(collection);
    const known = [...Object.keys(environment), ...collection.variable.map(({ key }) => key)];
    const local = [...text.matchAll(/pm\.variables\.set\('(\w+)'/g)].map(([, name]) => name!);
    const used = [
      ...[...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name!),
      ...[...text.matchAll(/pm\.(?:collectionVariables|variables)\.[gs]et\('(\w+)'/g)].map(
        ([, name]) => name!,
      ),
    ];
    expect(used.filter((name) => !known.includes(name) && !local.includes(name))).toEqual([]);
    expect(known.filter((name) => !used.includes(name))).toEqual([]);
  });

  it('makes keys in one place: its requests begin an intent, retry it, or show a key that is wrong', () => {
    const makers = everyItem(collection.item).filter(({ event }) =>
      JSON.stringify(event ?? []).includes(`collectionVariables.set('key'`),
    );
    expect(makers).toEqual([]);
    expect(scriptOf(collection, 'prerequest')).toContain(`pm.collectionVariables.set('key', key)`);
    const keys = requests.flatMap(({ request }) =>
      request.header.filter(({ key }) => key === 'Idempotency-Key').map(({ value }) => value),
    );
    expect([...new Set(keys)].sort()).toEqual(
      ['"{{key}}"', 'my key', '{{declinedKey}}', '{{key}}', '{{longKey}}', '{{newKey}}'].sort(),
    );
  });
});

describe("The Postman collection's environment", () => {
  const settings = readSettings({});

  it('is the sandbox as `npm start` brings it up', () => {
    const { PORT, WORKER_PORT, PROVIDER_PORT, MAILBOX_PORT } = settings.ports;
    expect(environment).toMatchObject({
      host: '127.0.0.1',
      apiPort: String(PORT),
      workerPort: String(WORKER_PORT),
      providerPort: String(PROVIDER_PORT),
      mailboxPort: String(MAILBOX_PORT),
    });
  });

  it('holds no secrets but those that the sandbox publishes', () => {
    const [acme, globex] = DEMO_TENANTS;
    const {
      host: _host,
      apiPort: _a,
      workerPort: _w,
      providerPort: _p,
      mailboxPort: _m,
      ...rest
    } = environment;
    expect(rest).toEqual({
      acmeKey: acme.apiKey,
      globexKey: globex.apiKey,
      operatorToken: SANDBOX_OPERATOR_TOKEN,
      webhookSecret: environmentOf(settings, { owner: '' })['STRIPE_WEBHOOK_SECRETS'],
    });
  });
});

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

/** `PUT /v1/orders/{id}/shipping-address` */
interface Route {
  readonly method: string;
  readonly path: string;
}

function routesOf({ paths }: OpenApi): Route[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
  );
}

/** A parameter of the path may be a variable, of either kind of collection, or an id that nothing has. */
function goesTo(request: Request, { method, path }: Route): boolean {
  const pattern = path.replace(/\{\w+\}/g, String.raw`(?:\{\{\w+\}\}|:\w+|\w+_0+)`);
  return (
    request.method === method && new RegExp(String.raw`^\{\{api\}\}${pattern}$`).test(addressOf(request))
  );
}

/** Without its query. */
function addressOf({ url }: Request): string {
  const address = typeof url === 'string' ? url : `{{api}}/${url.path.join('/')}`;
  return address.split('?')[0]!;
}

async function convert(data: OpenApi): Promise<Collection> {
  const { result, reason, output } = await new Promise<Conversion>((resolve, reject) =>
    converter.convertV2({ type: 'json', data }, {}, (error, conversion) =>
      error ? reject(error) : resolve(conversion),
    ),
  );
  if (!result) throw new Error(reason);
  return output!.find(({ type }) => type === 'collection')!.data as Collection;
}

type Conversion = Parameters<Parameters<typeof converter.convertV2>[2]>[1];
