import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ifMatchInvalid } from './problems.js';

/** The versions that a client has seen: any of these entity tags, or `*`, whichever there is. */
export type SeenVersions = '*' | readonly string[];

/** An entity tag, and a list of them, in which empty elements are allowed: RFC 9110 sections 8.8.3 and 5.6.1. */
const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
const LIST = new RegExp(`^[ \\t,]*${TAG}[ \\t]*(?:,[ \\t,]*(?:${TAG}[ \\t]*)?)*$`);

/**
 * Reads `If-Match`. Weak tags are left out: they never match strongly, and a change asks for that.
 * Source: RFC 9110 section 13.1.1.
 * @throws Problem 400
 */
export function parseIfMatch(value: string): SeenVersions {
  if (value.trim() === '*') return '*';
  if (!LIST.test(value)) throw ifMatchInvalid();
  const tags = value.match(new RegExp(TAG, 'g')) ?? [];
  return tags.filter((tag) => !tag.startsWith('W/'));
}

/** Whether the client has seen what is there now. @param etag of the present version, quoted */
export function hasSeen(versions: SeenVersions, etag: string): boolean {
  return versions === '*' || versions.includes(etag);
}

/** What `If-Match` says, undefined without it: `change(@IfMatch() seen: SeenVersions | undefined)`. */
export const IfMatch = createParamDecorator((_data: undefined, context: ExecutionContext) => {
  const { headers } = context.switchToHttp().getRequest<FastifyRequest>();
  return headers['if-match'] === undefined ? undefined : parseIfMatch(headers['if-match']);
});
