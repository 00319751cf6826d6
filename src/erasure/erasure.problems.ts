import { Problem } from '../http/problem.js';
import type { Obstacle } from './obstacles.js';

export function tenantNotFound(id: string): Problem {
  return new Problem({
    status: 404,
    code: 'tenant_not_found',
    title: 'There is no such tenant',
    detail: `No tenant ${id} is known.`,
    param: 'tenantId',
  });
}

export function erasureBlocked(obstacles: readonly Obstacle[]): Problem {
  const [first] = obstacles;
  const more = obstacles.length > 1 ? ` (and ${obstacles.length - 1} more, see obstacles)` : '';
  return new Problem({
    status: 409,
    code: 'erasure_blocked',
    title: 'Something is under way for this person',
    detail: `Nothing was erased: ${first?.kind} ${first?.id} is ${first?.status} and waits for ${first?.waitFor}${more}.`,
    members: { obstacles },
    headers: { 'Should-Retry': 'false' },
  });
}

/** A refund began, a dead letter was requeued, … between the look and the deed. */
export function erasureOvertaken(): Problem {
  return new Problem({
    status: 409,
    code: 'erasure_overtaken',
    title: 'Something has changed meanwhile',
    detail: 'Nothing was erased: what is held of this person has changed since it was looked up. Try again.',
    headers: { 'Retry-After': '1', 'Should-Retry': 'true' },
  });
}
