import { Problem } from './problem.js';

/** What may go wrong before a request reaches its operation, in the words that the client reads. */

export function malformedRequest(detail: string): Problem {
  return new Problem({ status: 400, code: 'malformed_request', title: 'The request is malformed', detail });
}

export function invalidJson(detail: string, param?: string): Problem {
  return new Problem({
    status: 400,
    code: 'invalid_json',
    title: 'The body is not acceptable JSON',
    detail,
    ...(param ? { param } : {}),
  });
}

/**
 * Says where, and never what: a card number that is repeated in an answer ends in somebody's log after all.
 * @param param the member, or the header; empty where the place has no name
 */
export function cardNumberRefused(param: string): Problem {
  return new Problem({
    status: 400,
    code: 'card_number_refused',
    title: 'A card number has no place here',
    detail: `${param || 'The body'} has what looks like a card number. Nothing was stored. Send a token of the payment provider as paymentMethod, and a card number nowhere.`,
    ...(param ? { param } : {}),
  });
}

export interface InvalidParam {
  /** Where in the request, as the client wrote it: `items[0].quantity`. */
  readonly param: string;
  readonly message: string;
}

/** Lists every offending member, so that one round mends them all. */
export function validationFailed(errors: readonly [InvalidParam, ...InvalidParam[]]): Problem {
  const [first, ...others] = errors;
  return new Problem({
    status: 400,
    code: 'validation_failed',
    title: 'The request is not valid',
    detail:
      others.length === 0 ? `${first.message}.` : `${first.message}; and ${others.length} more, see errors.`,
    param: first.param,
    members: { errors },
  });
}

/** The same words whatever is wrong with the key: a stranger learns nothing. */
export function unauthenticated(): Problem {
  return new Problem({
    status: 401,
    code: 'unauthenticated',
    title: 'A valid API key is required',
    detail: 'Send a valid API key: Authorization: Bearer <api key>.',
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}

export function routeNotFound(): Problem {
  return new Problem({
    status: 404,
    code: 'route_not_found',
    title: 'There is no such route',
    detail: 'Nothing answers at this path. The routes are listed at /docs.',
  });
}

export function methodNotAllowed(method: string, allowed: readonly string[]): Problem {
  return new Problem({
    status: 405,
    code: 'method_not_allowed',
    title: 'The route does not know this method',
    detail: `${method} is not supported here; use ${allowed.join(' or ')}.`,
    headers: { Allow: allowed.join(', ') },
  });
}

export function ifMatchInvalid(): Problem {
  return new Problem({
    status: 400,
    code: 'if_match_invalid',
    title: 'If-Match is not valid',
    detail: 'If-Match must be the ETag of an earlier answer, quotes included, a list of such, or *.',
  });
}

/** The change was not made, and would not be by trying again: somebody has to look at what is there now. */
export function preconditionFailed(): Problem {
  return new Problem({
    status: 412,
    code: 'precondition_failed',
    title: 'It has changed since',
    detail:
      'If-Match names another version than the present one. Nothing was changed. Read it again, and decide anew.',
    headers: { 'Should-Retry': 'false' },
  });
}

export function preconditionRequired(): Problem {
  return new Problem({
    status: 428,
    code: 'precondition_required',
    title: 'If-Match is required',
    detail:
      'Say which version you change: send the ETag of what you have read as If-Match. Nothing was changed.',
    headers: { 'Should-Retry': 'false' },
  });
}

export function requestTimedOut(): Problem {
  return new Problem({
    status: 408,
    code: 'request_timeout',
    title: 'The request took too long to arrive',
    detail: 'The request did not arrive in time. Nothing was done.',
  });
}

export function bodyTooLarge(limit: number): Problem {
  return new Problem({
    status: 413,
    code: 'body_too_large',
    title: 'The body is too large',
    detail: `A body may have up to ${limit} bytes.`,
  });
}

export function uriTooLong(): Problem {
  return new Problem({
    status: 414,
    code: 'uri_too_long',
    title: 'The URL is too long',
    detail: 'A part of the path is too long.',
  });
}

export function unsupportedMediaType(detail: string): Problem {
  return new Problem({
    status: 415,
    code: 'unsupported_media_type',
    title: 'The body must be JSON',
    detail,
    headers: { Accept: 'application/json' },
  });
}

export function rateLimited(of: 'tenant' | 'address', seconds: number): Problem {
  return new Problem({
    status: 429,
    code: 'rate_limited',
    title: 'Too many requests',
    detail: `This ${of} sends more requests than it may. Nothing was done: retry with the same Idempotency-Key after as many seconds as Retry-After says.`,
    headers: { 'Retry-After': String(seconds), 'Should-Retry': 'true' },
  });
}

export function headersTooLarge(): Problem {
  return new Problem({
    status: 431,
    code: 'headers_too_large',
    title: 'The headers are too large',
    detail: 'The request line and headers together may have up to 16 KiB.',
  });
}

/** For statuses that have no words of their own here. */
export function refused(status: number, detail: string): Problem {
  return new Problem({ status, code: 'request_refused', title: 'The request was refused', detail });
}

/** Says nothing of the cause: that is in the log, under the request's id. */
export function internalError(): Problem {
  return new Problem({
    status: 500,
    code: 'internal_error',
    title: 'Something went wrong on our side',
    detail:
      'The request failed on our side. Retry it with the same Idempotency-Key; if it keeps failing, tell us its Request-Id.',
  });
}

export function storeUnavailable(): Problem {
  return new Problem({
    status: 503,
    code: 'store_unavailable',
    title: 'The service cannot reach its database',
    detail: 'The database cannot be reached at present. Retry with the same Idempotency-Key.',
    headers: RETRY_SOON,
  });
}

export function shuttingDown(): Problem {
  return new Problem({
    status: 503,
    code: 'shutting_down',
    title: 'This instance is shutting down',
    detail: 'This instance takes no new requests. Retry with the same Idempotency-Key.',
    headers: { ...RETRY_SOON, Connection: 'close' },
  });
}

export function overloaded(): Problem {
  return new Problem({
    status: 503,
    code: 'overloaded',
    title: 'This instance has too much to do',
    detail:
      'This instance has as much in work as it can hold. Nothing was done: retry with the same Idempotency-Key.',
    headers: RETRY_SOON,
  });
}

export function notReady(): Problem {
  return new Problem({
    status: 503,
    code: 'not_ready',
    title: 'This instance is not ready',
    detail: 'The database does not answer, or this instance is shutting down.',
    headers: RETRY_SOON,
  });
}

/** One second: an outage of a database or of one instance ends in seconds or not at all soon. */
const RETRY_SOON = { 'Retry-After': '1', 'Should-Retry': 'true' };
