import { Warehouse, type Reservation, type ReservationOutcome } from './warehouse.js';

/** Nothing listened, or nobody of that name: not a byte was sent. */
const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'];

/** The port to a warehouse that speaks JSON over HTTP and keeps `Idempotency-Key`. */
export class HttpWarehouse extends Warehouse {
  /** @param timeoutMs of a whole call, from the connection to the last byte */
  constructor(
    private readonly url: URL,
    private readonly timeoutMs: number,
  ) {
    super();
  }

  reserve(reservation: Reservation, derivedKey: string): Promise<ReservationOutcome> {
    return this.ask('/reservations', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': derivedKey },
      body: JSON.stringify(reservation),
    });
  }

  find({ orderId }: Reservation): Promise<ReservationOutcome> {
    return this.ask(`/reservations/${encodeURIComponent(orderId)}`, { method: 'GET' });
  }

  private async ask(path: string, request: RequestInit): Promise<ReservationOutcome> {
    try {
      const signal = AbortSignal.timeout(this.timeoutMs);
      const answer = await fetch(new URL(path, this.url), { ...request, signal, redirect: 'error' });
      return request.method === 'GET' && answer.status === 404
        ? { status: 'unknown', reason: 'nothing was found', absent: true }
        : outcomeOf(answer.status, (await answer.json()) as Answer | null);
    } catch (error) {
      return { status: notSent(error) ? 'not_acted' : 'unknown', reason: messageOf(error) };
    }
  }
}

/** What the warehouse says; only members that are there count. */
interface Answer {
  readonly reservationId?: unknown;
  readonly code?: unknown;
}

/** What is not understood may have acted: only its own words say that it did, or never will. */
function outcomeOf(status: number, answer: Answer | null): ReservationOutcome {
  if ((status === 200 || status === 201) && typeof answer?.reservationId === 'string')
    return { status: 'reserved', reservationId: answer.reservationId };
  if (status === 409 && answer?.code === 'out_of_stock')
    return { status: 'refused', reason: 'There is not enough in stock.' };
  if (status === 422) return { status: 'contradicted', reason: 'the key has another reservation' };
  if (status === 401 || status === 429) return { status: 'not_acted', reason: `status ${status}` };
  return { status: 'unknown', reason: `status ${status}` };
}

function notSent(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as { readonly code?: string };
  return code !== undefined && NOT_SENT.includes(code);
}

function messageOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
