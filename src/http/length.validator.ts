import { ValidateBy } from 'class-validator';

/**
 * Text of `min` to `max` characters, counted as the database counts them. class-validator's rule of this name takes a
 * character and the variation selector behind it for one: what it lets in the table refuses, with a 500.
 */
export function Length(min: number, max: number): PropertyDecorator {
  return ValidateBy({
    name: 'isLength',
    constraints: [min, max],
    validator: {
      validate: (value) => typeof value === 'string' && isBetween(min, charactersIn(value), max),
      defaultMessage: (args) => `$property must be ${bound(args?.value, min, max)} characters`,
    },
  });
}

export function MaxLength(max: number): PropertyDecorator {
  return Length(0, max);
}

/** Code points, as in PostgreSQL's `length` and in JSON Schema: an emoji is one, and so is each part of a composed one. */
export function charactersIn(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function isBetween(min: number, count: number, max: number): boolean {
  return min <= count && count <= max;
}

function bound(value: unknown, min: number, max: number): string {
  const isShort = typeof value !== 'string' || charactersIn(value) < min;
  return isShort ? `longer than or equal to ${min}` : `shorter than or equal to ${max}`;
}
