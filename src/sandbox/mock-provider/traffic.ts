import type { FastifyInstance, FastifyReply } from 'fastify';

/** One moment between the provider and those who call it, or whom it calls. */
export type Moment =
  | { readonly kind: 'asked'; readonly method: string; readonly url: string; readonly key: string | null }
  /** `status` is null where the connection ended first, whoever ended it. */
  | {
      readonly kind: 'answered';
      readonly to: number;
      readonly status: number | null;
      readonly replayed: boolean;
    }
  | { readonly kind: 'told'; readonly event: string; readonly orderId: string | null }
  | { readonly kind: 'heard'; readonly to: number; readonly status: number | null };

/** @property n counts up from 1; @property at milliseconds since 1970 */
export type Seen = Moment & { readonly n: number; readonly at: number };

/** Enough for a few checkouts that are watched; nobody else asks. */
const KEPT = 1_000;

/** What was said on the wire, in the order in which it was; in memory only, for whoever draws it. */
export class Traffic {
  private readonly seen: Seen[] = [];
  private count = 0;

  note(moment: Moment): number {
    const n = ++this.count;
    this.seen.push({ ...moment, n, at: Date.now() });
    if (this.seen.length > KEPT) this.seen.shift();
    return n;
  }

  /** `GET /_traffic?after=<n>`: what came after that moment. */
  serve(app: FastifyInstance): void {
    app.get<{ Querystring: { after?: string } }>('/_traffic', ({ query: { after = 0 } }) => ({
      traffic: this.seen.filter(({ n }) => n > Number(after)),
    }));
  }

  /** Every request of `app`: when it came, and how it ended. An answer is noted before it is on its way. */
  watch(app: FastifyInstance): void {
    const open = new WeakMap<FastifyReply, number>();
    const end = (reply: FastifyReply, status: number | null) => {
      const to = open.get(reply);
      if (to === undefined) return;
      open.delete(reply);
      this.note({
        kind: 'answered',
        to,
        status,
        replayed: reply.getHeader('idempotent-replayed') === 'true',
      });
    };
    app.addHook('onRequest', async ({ method, url, headers }, reply) => {
      const key = (headers['idempotency-key'] as string | undefined) ?? null;
      open.set(reply, this.note({ kind: 'asked', method, url, key }));
      reply.raw.once('close', () => end(reply, null));
    });
    app.addHook('onSend', async (_request, reply) => end(reply, reply.statusCode));
  }
}
