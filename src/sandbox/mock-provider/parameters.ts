import { parse } from 'qs';
import { invalidRequest } from './provider-error.js';

/** Parameters as Stripe sends them: a form, with brackets for what is nested (`metadata[order_id]=…`). */
export class Parameters {
  private readonly values: Readonly<Record<string, unknown>>;

  constructor(form: string) {
    this.values = parse(form, { depth: 5, ignoreQueryPrefix: true });
  }

  text(name: string): string | undefined {
    const value = this.values[name];
    if (value === undefined || value === '') return undefined;
    if (typeof value !== 'string') throw invalidRequest(`Invalid string: ${name}`, undefined, name);
    return value;
  }

  required(name: string): string {
    const value = this.text(name);
    if (value === undefined)
      throw invalidRequest(`Missing required param: ${name}.`, 'parameter_missing', name);
    return value;
  }

  integer(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (!/^-?\d{1,15}$/.test(value))
      throw invalidRequest(`Invalid integer: ${value}`, 'parameter_invalid_integer', name);
    return Number(value);
  }

  flag(name: string): boolean {
    return this.text(name) === 'true';
  }

  oneOf<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const value = this.text(name);
    if (value === undefined || choices.includes(value as Choice)) return value as Choice | undefined;
    throw invalidRequest(`Invalid ${name}: must be one of ${choices.join(', ')}`, undefined, name);
  }

  /** A nested object of strings, such as metadata. */
  map(name: string): Record<string, string> {
    const value = this.values[name] ?? {};
    if (typeof value !== 'object' || value === null)
      throw invalidRequest(`Invalid object: ${name}`, undefined, name);
    return Object.fromEntries(Object.entries(value).map(([key, text]) => [key, String(text)]));
  }

  /** Stripe refuses what it does not know, so that a misspelt parameter is not silently dropped. */
  allowOnly(known: readonly string[]): void {
    const unknown = Object.keys(this.values).find((name) => !known.includes(name));
    if (unknown !== undefined)
      throw invalidRequest(`Received unknown parameter: ${unknown}`, 'parameter_unknown', unknown);
  }
}
