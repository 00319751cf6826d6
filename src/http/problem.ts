import { HttpException } from '@nestjs/common';

/** Stripe's four kinds of error; clients of payment APIs switch on them. */
export type ErrorType = 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error';

export interface ProblemDetails {
  readonly status: number;
  /** Stable, for programs. */
  readonly code: string;
  /** One line that is the same for every problem of this code. */
  readonly title: string;
  /** What was wrong this time, and what to do about it. */
  readonly detail: string;
  readonly type?: ErrorType;
  /** The member of the request that is at fault, as the client wrote it. */
  readonly param?: string;
  /** Further members of `error`, such as `decline_code`. */
  readonly error?: Readonly<Record<string, unknown>>;
  /** Further members of the problem, such as `errors`, `differs`, `orderId`. */
  readonly members?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * An error as the client sees it: `application/problem+json` (RFC 9457) whose extension member `error` is the
 * object that Stripe's clients know. Throw it, or store it with `refusal()`; both send the same bytes.
 */
export class Problem extends HttpException {
  constructor(readonly details: ProblemDetails) {
    super(details.detail, details.status);
    this.name = 'Problem';
  }

  get headers(): Record<string, string> {
    return {
      'Content-Type': 'application/problem+json; charset=utf-8',
      ...(DOCUMENTED.test(this.details.code) ? { Link: `<${DOCS_URL}>; rel="describedby"` } : {}),
      ...this.details.headers,
    };
  }

  toJSON(): Record<string, unknown> {
    const { status, code, title, detail, type, param, error, members } = this.details;
    return {
      type: `/problems/${code.replaceAll('_', '-')}`,
      title,
      status,
      detail,
      code,
      ...members,
      error: {
        type: type ?? (status >= 500 ? 'api_error' : 'invalid_request_error'),
        code,
        message: detail,
        ...(param === undefined ? {} : { param }),
        ...error,
        ...(DOCUMENTED.test(code) ? { doc_url: DOCS_URL } : {}),
      },
    };
  }
}

const DOCS_URL = '/docs';
const DOCUMENTED = /^idempotency_key/;
