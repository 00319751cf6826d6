import { randomBytes } from 'node:crypto';
import { wrongSealingKeys, sealingKeysOf } from '../../src/config/sealing-keys.js';
import type { EngineSettings } from '../../src/idempotency/engine-settings.js';
import { Sealing } from '../../src/idempotency/sealing.js';

const newKey = (): string => randomBytes(32).toString('base64');
const [ONE, TWO] = [`one:${newKey()}`, `two:${newKey()}`];

const sealingBy = (setting: string): Sealing =>
  new Sealing({ sealing: sealingKeysOf(setting) } as EngineSettings);

const WHOSE = { tenantId: 'acme', id: 'idem_1' };
const TEXT = Buffer.from('{"email":"ada@example.com"}');

const unreadable = expect.objectContaining({
  details: expect.objectContaining({ status: 503, code: 'sealed_value_unreadable' }),
});

function failure(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

describe('A sealed value', () => {
  const sealing = sealingBy(ONE);

  it.each([
    ['nothing', ''],
    ['one byte', 'x'],
    ['a reply', TEXT.toString()],
    ['1 MiB', 'x'.repeat(1_048_576)],
  ])('opens as it was, and is 28 bytes longer: %s', (_name, text) => {
    const bytes = Buffer.from(text);
    const sealed = sealing.seal(WHOSE, 'reply_body', bytes);
    expect(sealed.length).toBe(bytes.length + 28);
    expect(sealing.open('one', WHOSE, 'reply_body', sealed).equals(bytes)).toBe(true);
  });

  it('shows nothing of what it holds, and is another one each time', () => {
    const [first, second] = [0, 1].map(() => sealing.seal(WHOSE, 'reply_body', TEXT));
    expect(first!.includes('ada')).toBe(false);
    expect(first!.subarray(0, 12).equals(second!.subarray(0, 12))).toBe(false);
    expect(first!.subarray(12).equals(second!.subarray(12))).toBe(false);
  });

  it.each([
    ['of another tenant', { ...WHOSE, tenantId: 'globex' }, 'reply_body'],
    ['of another execution', { ...WHOSE, id: 'idem_2' }, 'reply_body'],
    ['in another column', WHOSE, 'input'],
  ] as const)('does not open in the place %s', (_name, whose, column) => {
    const sealed = sealing.seal(WHOSE, 'reply_body', TEXT);
    expect(failure(() => sealing.open('one', whose, column, sealed))).toEqual(unreadable);
  });

  it('does not open once any of its bits has changed, or a part is missing', () => {
    const sealed = sealing.seal(WHOSE, 'reply_body', TEXT);
    for (let index = 0; index < sealed.length; index++) {
      const changed = Buffer.from(sealed);
      changed[index]! ^= 1;
      expect(failure(() => sealing.open('one', WHOSE, 'reply_body', changed))).toEqual(unreadable);
      const cut = sealed.subarray(0, index);
      expect(failure(() => sealing.open('one', WHOSE, 'reply_body', cut))).toEqual(unreadable);
    }
  });

  it('is refused in a sentence that names the key, where the process does not have it', () => {
    const sealed = sealing.seal(WHOSE, 'reply_body', TEXT);
    const refused = failure(() => sealingBy(TWO).open('one', WHOSE, 'reply_body', sealed)) as Error;
    expect(refused).toEqual(unreadable);
    expect(refused.message).toContain('sealed with key one, which this process does not have');
  });

  it('does not open by another key of the same name', () => {
    const sealed = sealing.seal(WHOSE, 'reply_body', TEXT);
    const other = sealingBy(`one:${newKey()}`);
    expect(failure(() => other.open('one', WHOSE, 'reply_body', sealed))).toEqual(unreadable);
  });
});

describe('The first key writes, and all of them read', () => {
  const reply = (sealing: Sealing) => ({
    ...WHOSE,
    sealed_with: sealing.writesWith,
    input: null,
    state: null,
    request: null,
    reply_body: sealing.seal(WHOSE, 'reply_body', TEXT),
  });
  const read = (setting: string, row: ReturnType<typeof reply>) =>
    sealingBy(setting).opened('acme', row).reply_body?.toString();

  it.each([`${ONE},${TWO}`, `${TWO},${ONE}`, `plain,${ONE},${TWO}`])('whatever their order', (setting) => {
    for (const writer of [ONE, TWO, '', 'plain', `plain,${ONE}`])
      expect(read(setting, reply(sealingBy(writer)))).toBe(TEXT.toString());
  });

  it('and nothing is sealed where there is none, or the word plain comes first', () => {
    for (const setting of ['', 'plain', `plain,${ONE}`]) {
      const sealing = sealingBy(setting);
      expect(sealing.writesWith).toBeNull();
      expect(sealing.seal(WHOSE, 'reply_body', TEXT)).toBe(TEXT);
      expect(sealing.sealJson(WHOSE, 'input', { a: 1 })).toBe('{"a":1}');
    }
  });

  it('a json column holds a string of base64 then, and what is not there is not sealed', () => {
    const sealing = sealingBy(ONE);
    const sealed = sealing.sealJson(WHOSE, 'input', { email: 'ada@example.com' })!;
    expect(JSON.parse(sealed)).toMatch(/^[A-Za-z0-9+/]+=*$/);
    const row = { ...reply(sealing), input: JSON.parse(sealed) as unknown };
    expect(sealing.opened('acme', row).input).toEqual({ email: 'ada@example.com' });
    expect(sealing.opened('acme', row).state).toBeNull();
    expect(sealing.sealJson(WHOSE, 'state', undefined)).toBeNull();
  });

  it('what was never sealed does not open, whatever it is', () => {
    const sealing = sealingBy(ONE);
    for (const input of ['', 'plain', 17, { a: 1 }, [TEXT.toString('base64')]])
      expect(failure(() => sealing.opened('acme', { ...reply(sealing), input }).input)).toEqual(unreadable);
  });
});

describe('SEALING_KEYS', () => {
  const secret = newKey();

  it.each(['', `one:${secret}`, `one:${secret}, two-2_b:${newKey()},`, 'plain', `plain,one:${secret}`])(
    'may be keys by their ids, after the word plain or not (case %#)',
    (setting) => expect(wrongSealingKeys(setting)).toBeUndefined(),
  );

  it.each([
    ['no id', secret, /^SEALING_KEYS must be <id>:<base64/],
    ['an id that is none', `One:${secret}`, /^SEALING_KEYS must be <id>:<base64/],
    ['id and key in each other’s place', `${secret}:one`, /^SEALING_KEYS must be <id>:<base64/],
    ['plain for an id', `plain:${secret}`, /^SEALING_KEYS must be <id>:<base64/],
    ['plain, but not first', `one:${secret},plain`, /^SEALING_KEYS must be <id>:<base64/],
    ['31 bytes', `one:${randomBytes(31).toString('base64')}`, /^SEALING_KEYS: the key one must be 32 bytes/],
    ['hexadecimal', `one:${randomBytes(32).toString('hex')}`, /^SEALING_KEYS: the key one must be 32 bytes/],
    ['text behind it', `one:${secret}x`, /^SEALING_KEYS: the key one must be 32 bytes/],
    ['nothing behind the id', 'one:', /^SEALING_KEYS: the key one must be 32 bytes/],
    ['one id twice', `one:${secret},one:${newKey()}`, /^SEALING_KEYS names the key one twice/],
  ])('is refused, in one sentence without the key: %s', (_name, setting, sentence) => {
    const wrong = wrongSealingKeys(setting);
    expect(wrong).toMatch(sentence);
    for (const part of setting.split(/[:,]/).filter((each) => each.length > 10))
      expect(wrong).not.toContain(part);
  });
});
