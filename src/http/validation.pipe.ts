import { Injectable, ValidationPipe, type ArgumentMetadata } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import type { Problem } from './problem.js';
import { validationFailed, type InvalidParam } from './problems.js';

/** Checks what a route takes against its DTO. Members that the DTO does not know are refused, not dropped. */
@Injectable()
export class RequestValidationPipe extends ValidationPipe {
  constructor() {
    super({
      whitelist: true,
      forbidNonWhitelisted: true,
      transform: true,
      stopAtFirstError: true, // one message per member; every member is still reported
      exceptionFactory: toProblem,
    });
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'body' && !isObject(value)) {
      throw validationFailed([{ param: 'body', message: 'the body must be a JSON object' }]);
    }
    if (metadata.type === 'query') refuseInheritedNames(value as object);
    return super.transform(value, metadata) as Promise<unknown>;
  }
}

/** class-transformer drops what is named like a member that every object has, before anyone could refuse it. */
function refuseInheritedNames(query: object): void {
  const name = Object.keys(query).find((each) => each in Object.prototype);
  if (name) throw validationFailed([{ param: name, message: `${name} is not a known member` }]);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toProblem(errors: readonly ValidationError[]): Problem {
  return validationFailed(errors.flatMap((error) => flatten(error)) as [InvalidParam, ...InvalidParam[]]);
}

/** class-validator nests its errors as the request is nested; a client wants the paths. */
function flatten({ property, constraints, children }: ValidationError, parent = ''): InvalidParam[] {
  const param = join(parent, property);
  const own = Object.values(constraints ?? {}).map((message) => ({
    param,
    message: withPath(message, property, param),
  }));
  return [...own, ...(children ?? []).flatMap((child) => flatten(child, param))];
}

function join(parent: string, property: string): string {
  if (!parent) return property;
  return /^\d+$/.test(property) ? `${parent}[${property}]` : `${parent}.${property}`;
}

/** class-validator's messages begin with the bare property, or say "property x should not exist". */
function withPath(message: string, property: string, param: string): string {
  if (message === `property ${property} should not exist`) return `${param} is not a known member`;
  return message.startsWith(`${property} `) ? param + message.slice(property.length) : message;
}
