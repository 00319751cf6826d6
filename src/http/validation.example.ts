import type { Problem } from './problem.js';
import { validationFailed } from './problems.js';

/** What the API's description shows of a request whose `param` is wrong: `invalid('limit', 'must be an integer number')`. */
export function invalid(param: string, whatIsWrong: string): Problem {
  return validationFailed([{ param, message: `${param} ${whatIsWrong}` }]);
}
