import { buildMessage, ValidateBy } from 'class-validator';
import { charactersIn } from '../http/length.validator.js';

const MAX_ENTRIES = 20;
const MAX_NAME = 40;
const MAX_VALUE = 500;

/** Up to 20 strings of up to 500 characters, under names of up to 40. */
export function IsMetadata(): PropertyDecorator {
  return ValidateBy({
    name: 'isMetadata',
    validator: {
      validate: isMetadata,
      defaultMessage: buildMessage(
        () =>
          `$property must be an object of up to ${MAX_ENTRIES} strings of up to ${MAX_VALUE} characters, with names of up to ${MAX_NAME}`,
      ),
    },
  });
}

function isMetadata(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.length <= MAX_ENTRIES &&
    entries.every(
      ([name, text]) =>
        charactersIn(name) <= MAX_NAME && typeof text === 'string' && charactersIn(text) <= MAX_VALUE,
    )
  );
}
