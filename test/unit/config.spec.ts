import { getMetadataStorage } from 'class-validator';
import { readFile } from 'node:fs/promises';
import { ConfigError, loadConfig, SANDBOX_OPERATOR_TOKEN, SANDBOX_SECRET } from '../../src/config/config.js';
import { Environment } from '../../src/config/environment.js';

const ENOUGH = {
  DATABASE_URL: 'postgres://user:password@localhost:5432/checkout',
  STRIPE_API_URL: 'https://api.stripe.com',
  STRIPE_API_KEY: 'sk_test_1',
  PROVIDER_KEY_PREFIX: 'test',
  SMTP_URL: 'smtp://localhost:1025',
  HASH_SECRET: 'a secret of more than thirty-two characters',
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

  it('never repeats a value that may be secret', () => {
    const problems = problemsOf({
      ...ENOUGH,
      HASH_SECRET: 'hunter2',
      DATABASE_URL: 'mysql://root:hunter2@localhost',
    });
    expect(problems).toHaveLength(2);
    expect(problems.join()).not.toContain('hunter2');
  });

  it('refuses the fault points and the secrets of the sandbox in production', () => {
    const risky = {
      ...ENOUGH,
      FAULTS: 'on',
      HASH_SECRET: SANDBOX_SECRET,
      OPERATOR_TOKENS: `op_of_ada_0123456, ${SANDBOX_OPERATOR_TOKEN}`,
      PAYMENT_RETURN_URL: '',
    };
    expect(problemsOf({ ...risky, NODE_ENV: 'development' })).toEqual([]);
    expect(problemsOf({ ...risky, NODE_ENV: 'production' })).toEqual([
      expect.stringContaining('FAULTS'),
      expect.stringContaining('HASH_SECRET'),
      expect.stringContaining('PAYMENT_RETURN_URL'),
      expect.stringContaining('OPERATOR_TOKENS'),
    ]);
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
  it('has every name the service reads, no other, and the defaults it really has', async () => {
    const lines = (await readFile('.env.example', 'utf8'))
      .split('\n')
      .filter((line) => /^#?[A-Z_]+=/.test(line));
    const examples = new Map(lines.map((line) => [/[A-Z_]+/.exec(line)![0], line] as const));
    const defaults = new Environment();
    expect([...examples.keys()].sort()).toEqual(namesRead().sort());
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
