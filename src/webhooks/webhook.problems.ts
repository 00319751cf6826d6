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

/** Only who has the secret is told so. */
export function webhookNotAnEvent(): Problem {
  return new Problem({
    status: 400,
    code: 'webhook_not_an_event',
    title: 'The body is not an event',
    detail:
      'The signature is valid, and the body is no JSON object of an event with an id and data.object. Nothing was stored, and sending it again will not help.',
  });
}
