import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import fc from 'fast-check';
import {
  amountProblem,
  EXPONENTS_VERSION,
  formatAmount,
  isCurrency,
  MAX_AMOUNT,
} from '../../../src/payments/currency.js';
import { IsCurrency, IsUnitAmount } from '../../../src/payments/currency.validators.js';
import { IsPaymentMethod } from '../../../src/payments/payment-method.validator.js';

const ZERO_DECIMALS = 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ');
const THREE_DECIMALS = 'bhd jod kwd omr tnd'.split(' ');
const amounts = fc.integer({ min: 1, max: MAX_AMOUNT });

class Price {
  @IsCurrency() currency!: string;
  @IsUnitAmount() unitAmount!: number;
}

class Payment {
  @IsPaymentMethod() paymentMethod!: string;
}

const refused = (type: typeof Price | typeof Payment, plain: object) =>
  validateSync(plainToInstance<object, object>(type, plain)).map(({ property }) => property);

describe('An amount', () => {
  it.each([10.5, '1000', 1e-1, -1, 0, 100_000_000, NaN, Infinity, null, undefined, 10n])(
    'is not %p: it is an integer from 1 to 99999999 [MON-1]',
    (amount) => expect(amountProblem(amount, 'eur')).toMatch(/must be/),
  );

  it('is any integer with up to eight digits [MON-1]', () => {
    fc.assert(fc.property(amounts, (amount) => amountProblem(amount, 'usd') === undefined));
  });

  it.each(ZERO_DECIMALS)('of %s has no decimals: 500 is five hundred [MON-2]', (currency) => {
    expect(amountProblem(1, currency)).toBeUndefined();
    expect(formatAmount(500, currency)).toBe(`500 ${currency.toUpperCase()}`);
  });

  it.each(['isk', 'ugx'])('of %s is sent with two decimals, which are 00 [MON-3]', (currency) => {
    expect(amountProblem(500, currency)).toBeUndefined();
    expect(amountProblem(550, currency)).toBe(`must be a multiple of 100 in ${currency.toUpperCase()}`);
    expect(formatAmount(500, currency)).toBe(`5.00 ${currency.toUpperCase()}`);
  });

  it.each(['huf', 'twd'])(
    'of %s has two decimals like most: it lacks them at payout only [MON-3]',
    (currency) => {
      expect(amountProblem(1234, currency)).toBeUndefined();
      expect(formatAmount(1234, currency)).toBe(`12.34 ${currency.toUpperCase()}`);
    },
  );

  it.each(THREE_DECIMALS)('of %s has three decimals, the last of which is 0 [MON-4]', (currency) => {
    expect(amountProblem(5125, currency)).toBe(`must be a multiple of 10 in ${currency.toUpperCase()}`);
    expect(amountProblem(5120, currency)).toBeUndefined();
    expect(formatAmount(5120, currency)).toBe(`5.120 ${currency.toUpperCase()}`);
  });
});

describe("The exponents are the provider's", () => {
  it('where ISO 4217 says otherwise, and their table has a version [MON-5]', () => {
    expect(formatAmount(1000, 'mga')).toBe('1000 MGA');
    expect(formatAmount(1000, 'ugx')).toBe('10.00 UGX');
    expect(formatAmount(1000, 'isk')).toBe('10.00 ISK');
    expect(EXPONENTS_VERSION).toMatch(/^stripe-\d{4}-\d{2}$/);
  });

  it('where Intl says otherwise [MON-6]', () => {
    const intl = new Intl.NumberFormat('en', { style: 'currency', currency: 'ISK' }).resolvedOptions();
    expect(intl.maximumFractionDigits).toBe(0);
    expect(formatAmount(12300, 'isk')).toBe('123.00 ISK');
  });

  it('and every amount can be read back from its text [MON-6]', () => {
    const currencies = fc.constantFrom('eur', 'isk', ...ZERO_DECIMALS, ...THREE_DECIMALS);
    fc.assert(
      fc.property(amounts, currencies, (amount, currency) => {
        const text = formatAmount(amount, currency);
        expect(text).toMatch(/^\d+(\.\d+)? [A-Z]{3}$/);
        expect(Number(text.replace(/\D/g, ''))).toBe(amount);
      }),
    );
  });

  it('and a receipt shows small, large and negative amounts in full [MON-6]', () => {
    expect(formatAmount(5, 'eur')).toBe('0.05 EUR');
    expect(formatAmount(-1234, 'eur')).toBe('-12.34 EUR');
    expect(formatAmount(9_007_199_254_740_993n, 'eur')).toBe('90071992547409.93 EUR');
  });
});

describe('A currency', () => {
  it.each(['eur', 'usd', 'jpy', 'kwd', 'ugx', 'xof', 'xcg'])(
    'is one that the provider charges in: %s [MON-7]',
    (code) => expect(isCurrency(code)).toBe(true),
  );

  it.each([
    'xxx',
    'xts',
    'xau',
    'hrk',
    'bgn',
    'ang',
    'std',
    'dem',
    'EUR',
    'eu',
    'euro',
    '',
    'constructor',
    978,
    null,
  ])('is not %p [MON-7]', (code) => {
    expect(isCurrency(code)).toBe(false);
    if (typeof code === 'string') expect(() => formatAmount(1, code)).toThrow(RangeError);
  });

  it('may be written in either case and is kept in lower case [MON-7]', () => {
    const price = plainToInstance(Price, { currency: 'Eur', unitAmount: 1 });
    expect(validateSync(price)).toEqual([]);
    expect(price.currency).toBe('eur');
  });

  it.each(['XXX', 'HRK', 'BGN', 'euro', 5, null])('is refused in a body where it is %p [MON-7]', (currency) =>
    expect(refused(Price, { currency, unitAmount: 1 })).toEqual(['currency']),
  );

  it.each([0, 1, MAX_AMOUNT])('has prices of an item such as %p', (unitAmount) =>
    expect(refused(Price, { currency: 'eur', unitAmount })).toEqual([]),
  );

  it.each([10.5, '1000', 1e-1, -1, 100_000_000, null, undefined])(
    'has no prices such as %p [MON-1]',
    (unitAmount) => expect(refused(Price, { currency: 'eur', unitAmount })).toEqual(['unitAmount']),
  );
});

describe('A payment method', () => {
  it.each(['pm_card_visa', 'tok_visa', 'pm_1NXWPhLkdIwHu7ixR3nPKSVi'])(
    'is a token: %s [TC-7]',
    (paymentMethod) => expect(refused(Payment, { paymentMethod })).toEqual([]),
  );

  it.each(['4242424242424242', 'pm_4242424242424242', '4242 4242 4242 4242', '', 42, null])(
    'is never a card number, nor %p [TC-7]',
    (paymentMethod) => expect(refused(Payment, { paymentMethod })).toEqual(['paymentMethod']),
  );
});
