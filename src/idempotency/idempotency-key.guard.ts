import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasCardNumber } from '../http/card-numbers.js';
import { cardNumberRefused } from '../http/problems.js';
import { MalformedKey, parseIdempotencyKey } from './idempotency-key.js';
import { keyInvalid, keyMissing } from './idempotency.problems.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the guard on routes that need one: unquoted and within its limits. */
    idempotencyKey?: string;
  }
}

/** Is there one well-formed key? Runs after authentication, before the body is parsed and before any look-up. */
@Injectable()
export class IdempotencyKeyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const line = onlyLine(request.raw.rawHeaders);
    request.idempotencyKey = withoutCardNumber(parse(line));
    void http.getResponse<FastifyReply>().header('Idempotency-Key', line);
    return true;
  }
}

/** Node joins several field lines as `a, b`, which would pass for one key: only the raw headers tell. */
function onlyLine(rawHeaders: readonly string[]): string {
  let found: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() !== 'idempotency-key') continue;
    if (found !== undefined) throw keyInvalid('Idempotency-Key was sent more than once; send it once.');
    found = rawHeaders[index + 1] ?? '';
  }
  if (found === undefined) throw keyMissing();
  return found;
}

function parse(line: string): string {
  try {
    return parseIdempotencyKey(line);
  } catch (error) {
    throw error instanceof MalformedKey ? keyInvalid(error.reason) : error;
  }
}

/** Keys are stored, and sent back in answers. */
function withoutCardNumber(key: string): string {
  if (hasCardNumber(key)) throw cardNumberRefused('Idempotency-Key');
  return key;
}
