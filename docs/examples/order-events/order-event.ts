/** What this service reads of an event; `docs/events.md` of the sender says more. */
export interface OrderEvent {
  readonly id: string;
  readonly type: string;
  readonly tenantId: string;
  readonly sequence: number;
  readonly data: OrderEventData;
}

export interface OrderEventData {
  readonly orderId: string;
  /** In the smallest unit of the currency. */
  readonly amount: number;
  readonly currency: string;
}

/** @throws where it is no event: it will not become one by being sent again */
export function parseEvent(content: Buffer): OrderEvent {
  const event = JSON.parse(content.toString()) as Partial<OrderEvent>;
  const { id, type, tenantId, sequence, data } = event;
  const names = [id, type, data?.orderId, data?.currency];
  const named = isName(tenantId, 63) && names.every((name) => isName(name, 255));
  if (!named || ![sequence, data?.amount].every(Number.isSafeInteger)) throw new Error('This is no event');
  return event as OrderEvent;
}

/** One that the inbox can keep. Any other would fail there, and be sent again, for ever. */
function isName(value: unknown, longest: number): boolean {
  return typeof value === 'string' && value.length <= longest && /^[\x21-\x7e]+$/.test(value);
}
