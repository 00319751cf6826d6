import type { Words } from './events.js';
import type { Reply } from './http-client.js';

/** What the client was answered, in words. @param number which of its requests it is the answer to */
export function tellReply({ status, headers, body }: Reply, number: number): Words {
  const code = typeof body['code'] === 'string' ? body['code'] : '';
  const title = `${status} to request ${number}`;
  if (headers['idempotent-replayed'] === 'true')
    return { title: `${title}, replayed`, text: replayed(status), tone: 'good' };
  if (status === 201) return { title, text: 'Paid. The client has its answer.', tone: 'good' };
  const text = SENTENCES[code] ?? `The service answers ${status}${code && ` ${code}`}.`;
  return { title: code ? `${title}, ${code}` : title, text: text + differences(body), tone: toneOf(status) };
}

function replayed(status: number): string {
  return status < 300
    ? 'The stored answer, byte for byte. Nothing was done for it.'
    : `The stored answer (${status}), byte for byte: it is as final as the first time.`;
}

const SENTENCES: Readonly<Record<string, string>> = {
  idempotency_key_in_use: 'Somebody is working on this key: come back in a moment, with the same key.',
  card_declined: 'Declined. The client is told why, and the order stays unpaid.',
  external_ref_taken:
    'There is a purchase of that name already: the second one is refused, and its order is named.',
  order_payment_in_progress: 'The order is being paid under another key.',
  idempotency_key_mismatch: 'A retry sends the same request; this is another one.',
  idempotency_key_under_review: 'A person has to decide about this key first.',
  operation_interrupted:
    'Something failed half way. Come back with the same key: the work goes on where it stopped.',
  provider_unavailable: 'The provider is away, and has done nothing. Come back with the same key.',
  outcome_unknown:
    'What came of the charge is not known yet. Come back with the same key: nothing will be charged twice.',
};

function differences({ differs }: Reply['body']): string {
  if (!Array.isArray(differs)) return '';
  return ` What differs: ${differs.join(', ')}. Nothing was done.`;
}

function toneOf(status: number): 'bad' | 'wait' {
  return status === 409 || status >= 500 ? 'wait' : 'bad';
}
