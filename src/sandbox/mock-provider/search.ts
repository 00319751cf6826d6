import type { PaymentIntent } from './objects.js';
import { invalidRequest } from './provider-error.js';

const CLAUSE = /^metadata\[(['"])([^'"]+)\1\]:(['"])([^'"]*)\3$/;

/** Stripe's query language as far as it is used here: `metadata['charge_id']:'ch_1' AND metadata['a']:'b'`. */
export function searchIntents(intents: readonly PaymentIntent[], query: string): PaymentIntent[] {
  const clauses = query.split(/\s+AND\s+/i).map(clauseOf);
  return intents.filter(({ metadata }) => clauses.every(({ name, value }) => metadata[name] === value));
}

function clauseOf(clause: string): { name: string; value: string } {
  const match = CLAUSE.exec(clause.trim());
  if (!match)
    throw invalidRequest(`We were unable to parse your search query: ${clause}`, undefined, 'query');
  return { name: match[2]!, value: match[4]! };
}
