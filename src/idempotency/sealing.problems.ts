import { Problem } from '../http/problem.js';

const CODE = 'sealed_value_unreadable';

/** While keys change, another process may have it. @param keyId names the key, and is no secret */
export function sealedElsewhere(keyId: string): Problem {
  return unreadable(`It is sealed with key ${keyId}, which this process does not have.`);
}

/** Whoever can write to the database put it there, or the key under this id is another one. */
export function sealedBroken(keyId: string): Problem {
  return unreadable(`It is sealed with key ${keyId}, and does not open: it is not what was stored there.`);
}

export function isUnreadable(error: unknown): error is Problem {
  return error instanceof Problem && error.details.code === CODE;
}

function unreadable(why: string): Problem {
  return new Problem({
    status: 503,
    code: CODE,
    title: 'What is stored cannot be read here',
    detail: `${why} Nothing was done. Retry with the same Idempotency-Key, where there is one.`,
    headers: { 'Retry-After': '1', 'Should-Retry': 'true' },
  });
}
