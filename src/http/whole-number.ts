import { Transform } from 'class-transformer';

/** Of a query: digits, and nothing else that JavaScript takes for a number, such as `0x10` and `1e1`. What is none stays text, to be refused. */
export const WholeNumber = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) => (/^\d+$/.test(String(value)) ? Number(value) : value));
