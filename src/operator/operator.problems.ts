import { Problem } from '../http/problem.js';

/** The same words whatever is wrong with the token: a stranger learns nothing. */
export function operatorTokenNeeded(): Problem {
  return new Problem({
    status: 401,
    code: 'unauthenticated',
    title: 'A valid operator token is required',
    detail: 'Send a valid operator token: Authorization: Bearer <operator token>.',
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}

export function operatorsOnly(): Problem {
  return new Problem({
    status: 403,
    code: 'operators_only',
    title: 'This route is for operators',
    detail: 'The API key of a tenant opens nothing here. Send an operator token.',
  });
}

export function deadLetterNotFound(id: string): Problem {
  return new Problem({
    status: 404,
    code: 'message_not_found',
    title: 'There is no such message',
    detail: `No message ${id} is known. One that was purged is gone for good.`,
  });
}

export function messageNotDead(id: string): Problem {
  return new Problem({
    status: 409,
    code: 'message_not_dead',
    title: 'The message was not given up',
    detail: `Message ${id} is sent, or still due. Only a dead letter can be purged.`,
    headers: { 'Should-Retry': 'false' },
  });
}
