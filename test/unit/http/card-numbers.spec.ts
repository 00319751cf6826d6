import fc from 'fast-check';
import { hasCardNumber, mayHoldCardNumber } from '../../../src/http/card-numbers.js';

/** Published for tests by the networks and by payment providers. */
const CARDS = [
  ...['4242424242424242', '4000056655665556', '4222222222222', '4917610000000000003'], // Visa
  ...['5555555555554444', '2223003122003222', '5200828282828210'], // Mastercard
  ...['378282246310005', '371449635398431'], // American Express
  ...['6011111111111117', '6011000990139424', '6555900000604105'], // Discover, RuPay
  ...['3056930009020004', '36227206271667', '30569309025904', '38520000023237'], // Diners Club
  ...['3566002020360505', '6200000000000005', '6205500000000000004'], // JCB, UnionPay
  ...['6759649826438453', '6304000000000000', '2200000000000004', '9792030394440796'], // Maestro, Mir, Troy
];

const mayHold = (text: string) => mayHoldCardNumber(Buffer.from(text));

describe('A card number', () => {
  it.each(CARDS)('is one of an issuer: %s [TC-7]', (card) => {
    expect([hasCardNumber(card), mayHold(card)]).toEqual([true, true]);
  });

  it('may have blanks and hyphens between its digits, anywhere, and words around it [TC-7]', () => {
    const between = fc.constantFrom('', '', ' ', '-', '  ', ' -', '\u00a0', '\u2011', '\t', '\n');
    const before = fc.constantFrom('', 'card ', 'No.', '(', '"', ': ', '_', '12/27 ', '4-', '\n');
    const after = fc.constantFrom('', ')', '"', '.', ', 123', '_', '-4', ' 12/27', '\n');
    fc.assert(
      fc.property(
        fc.constantFrom(...CARDS),
        fc.array(between, { minLength: 19, maxLength: 19 }),
        before,
        after,
        (card, gaps, before, after) => {
          const written = [...card]
            .map((digit, at) => digit + (at < card.length - 1 ? gaps[at] : ''))
            .join('');
          expect(hasCardNumber(before + written + after)).toBe(true);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('is never missed by the quick look, where nothing is escaped', () => {
    const texts = fc.array(fc.constantFrom(...CARDS, ' ', '-', '{"a":"', '",', 'é', '4242', 'x', '\u2011'));
    fc.assert(
      fc.property(texts, (parts) => {
        const text = parts.join('');
        expect([hasCardNumber(text), mayHold(text)]).not.toEqual([true, false]);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['with another check digit', '4242424242424241'],
    ['of no issuer', '1234567812345670'],
    ['too short', '424242424242'],
    ['too long', '42424242424242424242'],
    ['of the wrong length for its issuer', '37828224631000'],
    ['within a word', 'a4242424242424242'],
    ['before a letter', '4242424242424242a'],
    ['a bar code', '4006381333931'],
    ['a telephone number', '+49 1512 3456782'],
    ['a fraction', '0.4242424242424242'],
    ['a UUID whose first three parts would be one', '42424242-4242-4242-8888-42424242abcd'],
    ['an instant in milliseconds', '1764374400000'],
    ['an IMEI', '352099001761481'],
    ['of dates', '2026-01-31 2026-02-28'],
  ])('is not what only looks a little like it: %s', (_why, text) => {
    expect(hasCardNumber(text)).toBe(false);
  });

  it('is nothing that a random key of digits and letters is', () => {
    fc.assert(
      fc.property(fc.uuid(), (key) => {
        expect(hasCardNumber(key)).toBe(false);
        expect(hasCardNumber(`basket-${key}`)).toBe(false);
        expect(hasCardNumber(key.replaceAll('-', ''))).toBe(false);
      }),
      { numRuns: 20_000 },
    );
  });

  it('is no reason to look at a body of half a million digits twice', () => {
    for (const text of ['1 ', '4 ', '12345678-1234-'].map((part) => part.repeat(100_000))) {
      const began = process.cpuUsage();
      hasCardNumber(text);
      expect(process.cpuUsage(began).user / 1e6).toBeLessThan(10); // seconds; were it quadratic, minutes
    }
  });
});
