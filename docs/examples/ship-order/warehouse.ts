import type { OrderItem } from '../../../src/orders/order.js';
import type { Unsettled } from '../../../src/idempotency/operation.js';

/** What is frozen before goods are reserved: every retry sends exactly this. JSON values only. */
export interface Reservation {
  /** Ours; the warehouse keeps one reservation for each. */
  readonly orderId: string;
  readonly items: readonly Pick<OrderItem, 'sku' | 'quantity'>[];
}

export type ReservationOutcome =
  | { readonly status: 'reserved'; readonly reservationId: string }
  /** There are not enough of it: final for this derived key, nothing is held. */
  | { readonly status: 'refused'; readonly reason: string }
  | (Unsettled & { readonly absent?: boolean });

/** The port to whoever has the goods. No method throws or retries: each result is an outcome, and the engine counts. */
export abstract class Warehouse {
  /** The same pair always means the same reservation. */
  abstract reserve(reservation: Reservation, derivedKey: string): Promise<ReservationOutcome>;

  /** Looks the reservation up by our order. Not found is `unknown`: the call that makes it may be on its way. */
  abstract find(reservation: Reservation): Promise<ReservationOutcome>;
}
