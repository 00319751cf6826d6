import { ApiResponse } from '@nestjs/swagger';
import type { Problem } from './problem.js';
import { problemResponses } from './problem-responses.js';

const PROBLEMS = Symbol('problems');

/**
 * Says in the API's description which problems a route may answer with, each by one that its own definition made:
 * `@Problems(orderNotFound(id), orderAlreadyPaid(id))`. Those of several decorators add up.
 */
export function Problems(...problems: readonly Problem[]): MethodDecorator {
  return (target, property, descriptor) => {
    const handler = descriptor.value as object;
    const known = (Reflect.getMetadata(PROBLEMS, handler) ?? []) as readonly Problem[];
    const all = [...known, ...problems];
    Reflect.defineMetadata(PROBLEMS, all, handler);
    for (const [status, response] of Object.entries(problemResponses(all)))
      ApiResponse({ status: Number(status), ...response })(target, property, descriptor);
  };
}
