/**
 * Currencies as the payment provider counts them. The exponent belongs to the pair of currency and provider: ISO
 * says that UGX and ISK have no decimals and MGA has two, Stripe takes them as 2, 2 and 0, and Intl knows a third
 * answer. So neither is asked: this table is the only source, and amounts are stored as the integers it means.
 *
 * Source: https://docs.stripe.com/currencies ("Minor units in API amounts", "Special cases").
 */

/** Which table an amount was counted by; changes whenever an exponent does. */
export const EXPONENTS_VERSION = 'stripe-2026-01';

/** Eight digits: what the provider takes for most currencies. */
export const MAX_AMOUNT = 99_999_999;

interface Unit {
  /** How many digits of an amount stand after the point. */
  readonly exponent: 0 | 2 | 3;
  /** Amounts are multiples of this many smallest units. */
  readonly step: number;
}

const TWO_DECIMALS = `
  aed afn all amd aoa ars aud awg azn bam bbd bdt bmd bnd bob brl bsd bwp byn bzd cad cdf chf cny cop crc cve czk dkk
  dop dzd egp etb eur fjd fkp gbp gel gip gmd gtq gyd hkd hnl htg huf idr ils inr jmd kes kgs khr kyd kzt lak lbp lkr
  lrd lsl mad mdl mkd mmk mnt mop mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd pab pen pgk php pkr pln qar ron rsd
  rub sar sbd scr sek sgd shp sle sos srd szl thb tjs top try ttd twd tzs uah usd uyu uzs wst xcd xcg yer zar zmw`;

const ZERO_DECIMALS = 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf';

/** Their last digit must be 0: the card networks behind the provider carry two decimals. */
const THREE_DECIMALS = 'bhd jod kwd omr tnd';

/** They have no decimals any more, but are still sent with two, which must be 00. */
const TWO_DECIMALS_ALWAYS_ZERO = 'isk ugx';

const UNITS: ReadonlyMap<string, Unit> = new Map([
  ...units(TWO_DECIMALS, { exponent: 2, step: 1 }),
  ...units(ZERO_DECIMALS, { exponent: 0, step: 1 }),
  ...units(THREE_DECIMALS, { exponent: 3, step: 10 }),
  ...units(TWO_DECIMALS_ALWAYS_ZERO, { exponent: 2, step: 100 }),
]);

function units(codes: string, unit: Unit): [code: string, unit: Unit][] {
  return codes
    .trim()
    .split(/\s+/)
    .map((code) => [code, unit]);
}

/** Whether the provider charges in `currency`, given as it is stored: three letters, lower case. */
export function isCurrency(currency: unknown): currency is string {
  return typeof currency === 'string' && UNITS.has(currency);
}

/**
 * What is wrong with charging `amount`, in words for the client; undefined where nothing is.
 * @param amount in the provider's smallest unit
 * @param currency a known one, lower case
 */
export function amountProblem(amount: unknown, currency: string): string | undefined {
  const { step } = unitOf(currency);
  if (!Number.isSafeInteger(amount)) return "must be an integer in the currency's smallest unit";
  const units = amount as number;
  if (units < 1 || units > MAX_AMOUNT) return `must be between 1 and ${MAX_AMOUNT}`;
  return units % step === 0 ? undefined : `must be a multiple of ${step} in ${currency.toUpperCase()}`;
}

/** For people: `formatAmount(1234, 'eur')` is `12.34 EUR`, `formatAmount(500, 'jpy')` is `500 JPY`. */
export function formatAmount(amount: number | bigint, currency: string): string {
  const { exponent } = unitOf(currency);
  const units = BigInt(amount);
  const digits = String(units < 0n ? -units : units).padStart(exponent + 1, '0');
  const point = digits.length - exponent;
  const decimals = exponent === 0 ? '' : `.${digits.slice(point)}`;
  return `${units < 0n ? '-' : ''}${digits.slice(0, point)}${decimals} ${currency.toUpperCase()}`;
}

function unitOf(currency: string): Unit {
  const unit = UNITS.get(currency);
  if (!unit) throw new RangeError(`Unknown currency: ${currency}`);
  return unit;
}
