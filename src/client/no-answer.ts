/**
 * Every try was lost, or timed out. Whether the service did the work is unknown: send the same request again later
 * under the same key, or ask `GET /v1/idempotency-keys`. A new key could do it twice.
 */
export class NoAnswer extends Error {
  constructor(
    readonly idempotencyKey: string | null,
    readonly attempts: number,
    override readonly cause: unknown,
  ) {
    super(
      `No answer in ${attempts} ${attempts === 1 ? 'try' : 'tries'}${idempotencyKey === null ? '' : `: ask again, under the key ${idempotencyKey}`}`,
    );
    this.name = 'NoAnswer';
  }
}
