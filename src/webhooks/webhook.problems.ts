import { Problem } from '../http/problem.js';

/** The same words whatever was wrong: whoever tries signatures learns nothing from them. */
export function webhookSignatureInvalid(): Problem {
  return new Problem({
    status: 400,
    code: 'webhook_signature_invalid',
    title: 'The signature is not valid',
    detail:
      'Stripe-Signature must be a current signature of the body as it was sent, by the secret of this endpoint.',
  });
}
