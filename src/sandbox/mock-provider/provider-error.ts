import type { PaymentIntent } from './objects.js';

/** Stripe's error object, as it is sent. */
export interface ErrorObject {
  readonly type: 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error';
  readonly code?: string;
  readonly decline_code?: string;
  readonly message: string;
  readonly param?: string;
  readonly payment_intent?: PaymentIntent;
}

/** A refusal that leaves no trace: nothing is stored, and the idempotency key stays free. */
export class ProviderError extends Error {
  constructor(
    readonly status: number,
    readonly error: ErrorObject,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(error.message);
    this.name = 'ProviderError';
  }
}

export function invalidRequest(message: string, code?: string, param?: string): ProviderError {
  return new ProviderError(400, {
    type: 'invalid_request_error',
    message,
    ...(code && { code }),
    ...(param && { param }),
  });
}

export function missingObject(kind: string, id: string, param: string): ProviderError {
  const message = `No such ${kind}: '${id}'`;
  return new ProviderError(404, { type: 'invalid_request_error', code: 'resource_missing', message, param });
}

export function unauthorized(message: string): ProviderError {
  return new ProviderError(401, { type: 'invalid_request_error', message });
}

export function keyInUse(): ProviderError {
  const message = 'There is currently another in-progress request using this idempotency key.';
  return new ProviderError(
    409,
    { type: 'invalid_request_error', code: 'idempotency_key_in_use', message },
    { 'Stripe-Should-Retry': 'true' },
  );
}

export function keyReused(key: string): ProviderError {
  return new ProviderError(400, {
    type: 'idempotency_error',
    message: `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
  });
}

export function tooManyRequests(): ProviderError {
  return new ProviderError(429, {
    type: 'invalid_request_error',
    code: 'rate_limit',
    message: 'Too many requests.',
  });
}

export function apiError(status: 500 | 503): ProviderError {
  return new ProviderError(status, { type: 'api_error', message: 'An error occurred on our side. Sorry!' });
}
