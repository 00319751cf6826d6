import { getMetadataStorage } from 'class-validator';
import { readFile } from 'node:fs/promises';
import { parse as parseYaml } from 'yaml';
import { ConfigError, loadConfig } from '../../src/config/config.js';
import { Environment } from '../../src/config/environment.js';
import {
  SANDBOX_OPERATOR_TOKEN,
  SANDBOX_PROVIDER_KEY,
  SANDBOX_SECRET,
  SANDBOX_WEBHOOK_SECRET,
} from '../../src/config/published.js';
import { environmentOf } from '../../src/sandbox/services.js';
import { readSettings } from '../../src/sandbox/settings.js';

const ENOUGH = {
  DATABASE_URL: 'postgres://user:password@localhost:5432/checkout',
  STRIPE_API_URL: 'https://api.stripe.com',
  STRIPE_API_KEY: 'sk_test_1',
  PROVIDER_KEY_PREFIX: 'test',
  SMTP_URL: 'smtp://localhost:1025',
  HASH_SECRET: 'a secret of more than thirty-two characters',
};

/** What production asks for besides. */
const LIVE = {
  DATABASE_URL: 'postgres://user:of-our-own@localhost:5432/checkout',
  PAYMENT_RETURN_URL: 'https://shop.example/paid',
};

function problemsOf(env: NodeJS.ProcessEnv): string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('\n  - ').slice(1);
  }
  return [];
}

describe('The configuration', () => {
  it('needs six names, and has a default for every other', () => {
    expect(problemsOf(ENOUGH)).toEqual([]);
    expect(problemsOf({})).toEqual(Object.keys(ENOUGH).map((name) => `${name} is not set`));
  });

  it('scales the five times with the lease', () => {
    expect(loadConfig(ENOUGH).timings).toEqual({
      providerTimeout: 10,
      requestDeadline: 25,
      lease: 30,
      maximumHold: 120,
      completerGrace: 300,
    });
    expect(loadConfig({ ...ENOUGH, IDEMPOTENCY_LEASE_SECONDS: '6' }).timings).toEqual({
      providerTimeout: 2,
      requestDeadline: 5,
      lease: 6,
      maximumHold: 24,
      completerGrace: 60,
    });
  });

  it.each([
    [
      { PROVIDER_TIMEOUT_SECONDS: '25' },
      'PROVIDER_TIMEOUT_SECONDS (25) must be below REQUEST_DEADLINE_SECONDS (25)',
    ],
    [
      { REQUEST_DEADLINE_SECONDS: '40' },
      'REQUEST_DEADLINE_SECONDS (40) must be below IDEMPOTENCY_LEASE_SECONDS (30)',
    ],
    [
      { IDEMPOTENCY_MAX_HOLD_SECONDS: '20' },
      'IDEMPOTENCY_LEASE_SECONDS (30) must be below IDEMPOTENCY_MAX_HOLD_SECONDS (20)',
    ],
    [
      { COMPLETER_GRACE_SECONDS: '30' },
      'IDEMPOTENCY_LEASE_SECONDS (30) must be below COMPLETER_GRACE_SECONDS (30)',
    ],
  ])('refuses times out of order: %j', (times, problem) => {
    expect(problemsOf({ ...ENOUGH, ...times })).toEqual([problem]);
  });

  it('names everything that is wrong in one message, times out of order included', () => {
    const wrong = {
      ...ENOUGH,
      NODE_ENV: 'production',
      PAYMENT_RETURN_URL: 'http://shop.example/paid',
      PORT: 'http',
      LOG_LEVEL: 'loud',
      DATABASE_URL: 'localhost:5432',
      FAULTS: 'on',
      COMMIT_EVERY_PHASE: 'yes',
      PROVIDER_TIMEOUT_SECONDS: 'soon',
      REQUEST_DEADLINE_SECONDS: '60',
    };
    expect(problemsOf(wrong).map((problem) => problem.split(' ')[0])).toEqual([
      'PORT',
      'LOG_LEVEL',
      'DATABASE_URL',
      'PROVIDER_TIMEOUT_SECONDS',
      'COMMIT_EVERY_PHASE',
      'REQUEST_DEADLINE_SECONDS',
      'FAULTS',
      'PAYMENT_RETURN_URL',
    ]);
  });

  it.each([
    ['postgres://user:p,w@one:5432,two:6432,[::1]/checkout?sslmode=verify-full', []],
    ['postgresql:///checkout', []],
    ['postgres://user@one:5432,two:x/checkout', ['DATABASE_URL']],
    ['mysql://user@one:5432,two:5432/checkout', ['DATABASE_URL']],
    ['one:5432,two:5432', ['DATABASE_URL']],
  ])('takes a database on one server or on several: %s', (url, wrong) => {
    const problems = problemsOf({ ...ENOUGH, DATABASE_URL: url });
    expect(problems.map((problem) => problem.split(' ')[0])).toEqual(wrong);
  });

  it('never repeats a value that may be secret', () => {
    const problems = problemsOf({
      ...ENOUGH,
      HASH_SECRET: 'hunter2',
      DATABASE_URL: 'mysql://root:hunter2@localhost',
    });
    expect(problems).toHaveLength(2);
    expect(problems.join()).not.toContain('hunter2');
  });

  describe('in production', () => {
    const production = (settings: NodeJS.ProcessEnv): string[] => {
      const env = { ...ENOUGH, ...LIVE, ...settings };
      expect(problemsOf({ ...env, NODE_ENV: 'development' })).toEqual([]);
      return problemsOf({ ...env, NODE_ENV: 'production' });
    };

    it('takes what is its own', () => {
      expect(production({})).toEqual([]);
      expect(production({ DATABASE_URL: 'postgres://by-certificate@db/checkout' })).toEqual([]);
      expect(production({ AMQP_URL: 'amqps://checkout:long-and-mine@broker/' })).toEqual([]);
    });

    it.each([
      [{ FAULTS: 'on' }, 'FAULTS'],
      [{ PAYMENT_RETURN_URL: '' }, 'PAYMENT_RETURN_URL'],
      [{ HASH_SECRET: SANDBOX_SECRET }, 'HASH_SECRET'],
      [{ OPERATOR_TOKENS: `op_of_ada_0123456, ${SANDBOX_OPERATOR_TOKEN}` }, 'OPERATOR_TOKENS'],
      [{ METRICS_TOKEN: SANDBOX_OPERATOR_TOKEN }, 'METRICS_TOKEN'],
      [{ STRIPE_API_KEY: SANDBOX_PROVIDER_KEY }, 'STRIPE_API_KEY'],
      [{ STRIPE_WEBHOOK_SECRETS: `whsec_mine,${SANDBOX_WEBHOOK_SECRET}` }, 'STRIPE_WEBHOOK_SECRETS'],
      [{ AMQP_URL: 'amqps://guest:guest@broker/' }, 'AMQP_URL'],
      [{ AMQP_URL: 'amqps://broker/' }, 'AMQP_URL'],
      [{ DATABASE_URL: 'postgres://checkout:checkout@db/checkout' }, 'DATABASE_URL'],
      [{ DATABASE_URL: 'postgres://postgres:postgres@db/checkout' }, 'DATABASE_URL'],
      [{ DATABASE_URL: 'postgres://checkout_app:checkout_app@db/checkout' }, 'DATABASE_URL'],
      [{ DATABASE_URL: 'postgres://checkout:checkout@one:5432,two:5432/checkout' }, 'DATABASE_URL'],
    ])('refuses what is for a laptop, in one sentence that does not repeat it: %j', (risky, name) => {
      const problems = production(risky);
      expect(problems).toEqual([expect.stringMatching(`^${name} .*NODE_ENV=production$`)]);
      for (const value of [SANDBOX_SECRET, SANDBOX_OPERATOR_TOKEN, SANDBOX_WEBHOOK_SECRET, ':checkout@'])
        expect(problems.join()).not.toContain(value);
    });

    it('refuses every secret of the compose file, and of the environment that the sandbox makes', async () => {
      const { 'x-service': service } = parseYaml(await readFile('docker-compose.yml', 'utf8'), {
        merge: true,
      }) as { 'x-service': { environment: Record<string, unknown> } };
      const compose = Object.entries(service.environment).map(([name, value]) => [name, String(value)]);
      const sandbox = environmentOf(readSettings({}), {
        owner: 'postgres://postgres:postgres@127.0.0.1:5433/checkout',
      });
      for (const env of [Object.fromEntries(compose) as NodeJS.ProcessEnv, sandbox]) {
        const named = problemsOf({ ...env, NODE_ENV: 'production' }).map((problem) => problem.split(' ')[0]);
        expect(named).toEqual(
          expect.arrayContaining([
            ...['FAULTS', 'HASH_SECRET', 'OPERATOR_TOKENS', 'STRIPE_API_KEY', 'STRIPE_WEBHOOK_SECRETS'],
            ...['DATABASE_URL', 'PAYMENT_RETURN_URL'],
          ]),
        );
      }
    });
  });

  it.each([
    ['on', true],
    ['true', true],
    ['off', false],
    ['false', false],
    ['', false],
  ])('reads the switch "%s" as %s', (word, value) => {
    expect(loadConfig({ ...ENOUGH, FAULTS: word }).faults).toBe(value);
  });

  it('believes proxies by their addresses and networks, and nothing else', () => {
    const trusted = (text: string) => loadConfig({ ...ENOUGH, TRUST_PROXY: text }).trustProxy;
    expect(trusted('')).toBe(false);
    for (const text of ['10.0.0.0/8', 'loopback, 192.0.2.7', '2001:db8::/32'])
      expect(trusted(text)).toBe(text);
    for (const wrong of ['10.0.0.0/999', '...', 'true', '1', '0.0.0.0/0', '::/0', '1.2.3.4, everybody'])
      expect(problemsOf({ ...ENOUGH, TRUST_PROXY: wrong })).toEqual([
        expect.stringContaining('TRUST_PROXY must be'),
      ]);
  });

  it('takes several operator tokens, each long enough not to be guessed, and nobody where none is named', () => {
    const tokens = (text: string) => loadConfig({ ...ENOUGH, OPERATOR_TOKENS: text }).operatorTokens;
    expect(tokens('')).toEqual([]);
    expect(tokens('op_of_ada_0123456, op_of_grace_45678,')).toEqual([
      'op_of_ada_0123456',
      'op_of_grace_45678',
    ]);
    for (const wrong of ['short', 'op_of_ada_0123456,short', 'op_of_ada 0123456', 'op_of_ada_0123456;'])
      expect(problemsOf({ ...ENOUGH, OPERATOR_TOKENS: wrong })).toEqual([
        expect.stringContaining('OPERATOR_TOKENS must be'),
      ]);
  });

  it('takes several webhook secrets, so that one can be replaced while both work', () => {
    const { provider } = loadConfig({ ...ENOUGH, STRIPE_WEBHOOK_SECRETS: 'whsec_new, whsec_old,' });
    expect(provider.webhookSecrets).toEqual(['whsec_new', 'whsec_old']);
  });
});

describe('.env.example', () => {
  it('has every name the service and its migrations read, no other, and the defaults it really has', async () => {
    const lines = (await readFile('.env.example', 'utf8'))
      .split('\n')
      .filter((line) => /^#?[A-Z_]+=/.test(line));
    const examples = new Map(lines.map((line) => [/[A-Z_]+/.exec(line)![0], line] as const));
    const defaults = new Environment();
    expect([...examples.keys()].sort()).toEqual([...namesRead(), 'DATABASE_APP_URL'].sort());
    for (const [name, value] of Object.entries(defaults)) {
      const shown = typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value);
      if (value !== undefined) expect(examples.get(name)).toMatch(new RegExp(`^#?${name}=${shown}$`));
    }
  });
});

/** From the rules, as a name without a default is no property of a new instance. */
function namesRead(): string[] {
  const rules = getMetadataStorage().getTargetValidationMetadatas(Environment, '', false, false);
  return [...new Set(rules.map(({ propertyName }) => propertyName))];
}
