export type Form = Record<string, string>;
type Json = Record<string, unknown>;

export const PAY = { amount: '1000', currency: 'eur', confirm: 'true', payment_method: 'pm_card_visa' };

/** Stripe's wire format by hand, so that the SDK is not what is tested. */
export async function call(url: string, form?: Form, headers: Form = {}) {
  const answer = await fetch(url, {
    headers: { Authorization: 'Bearer sk_test_wire', ...headers },
    ...(form && { method: 'POST', body: new URLSearchParams(form) }),
  });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Json };
}
