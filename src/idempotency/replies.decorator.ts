import type { Type } from '@nestjs/common';
import { ApiCreatedResponse } from '@nestjs/swagger';

/**
 * Says in the API's description what the operation behind a keyed route replies when all goes well.
 * @param headers of the reply, each with what it says
 */
export function Replies(
  type: Type,
  example: unknown,
  headers: Readonly<Record<string, string>> = {},
): MethodDecorator {
  return ApiCreatedResponse({
    type,
    example,
    description: 'Done, now or before: a replay has the same status and the same bytes.',
    headers: Object.fromEntries(Object.entries({ ...headers, ...KEYED }).map(described)),
  });
}

function described([name, description]: [string, string]) {
  return [name, { description, schema: { type: 'string' } }] as const;
}

const KEYED = {
  'Idempotency-Key': 'The key, as it was sent.',
  'Idempotent-Replayed': '`true` on a replay, absent otherwise.',
  'Original-Request': 'The Request-Id of the request that ran.',
};
