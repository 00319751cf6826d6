/**
 * The key of a Stripe account's test mode, where the tests were given one.
 * @throws where it is a live key: what the tests do with it would be done with money
 */
export function stripeTestKey(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const key = env['STRIPE_API_KEY'] || undefined;
  if (key !== undefined && !/^[sr]k_test_/.test(key))
    throw new Error('STRIPE_API_KEY is not of test mode (sk_test_…): the tests would move money');
  return key;
}
