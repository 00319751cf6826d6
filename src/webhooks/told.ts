import type { Tx } from '../database/transaction.js';
import { openReview, type OpenQuestion } from '../idempotency/open-review.js';
import type { ChargeNews, RefundNews } from '../payments/payment-event.js';

/** News, and the event that told it. */
export interface Told<News extends ChargeNews | RefundNews> {
  readonly id: string;
  readonly type: string;
  readonly news: News;
}

/** @returns the names of what the provider says otherwise than we do, or undefined */
export function termsThatDiffer(
  terms: readonly (readonly [name: string, ours: unknown, theirs: unknown])[],
): string | undefined {
  const differing = terms.filter(([, ours, theirs]) => ours !== theirs).map(([name]) => name);
  return differing.length > 0 ? `differs in ${differing.join(', ')}` : undefined;
}

/** Asks a person about what was told; nothing of it is applied. */
export function question(
  tx: Tx,
  { id, type, news }: Told<ChargeNews | RefundNews>,
  {
    differs,
    ...question
  }: Pick<OpenQuestion, 'subject' | 'reason'> & { readonly differs?: string | undefined },
): void {
  const evidence = { event: id, type, provider: news, ...(differs !== undefined && { differs }) };
  openReview(tx, { tenantId: news.tenantId, ...question, evidence });
}
