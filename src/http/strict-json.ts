import { isSafeNumber } from 'lossless-json';
import { hasCardNumber, mayHoldCardNumber } from './card-numbers.js';
import { cardNumberRefused, invalidJson } from './problems.js';

/**
 * JSON that means one thing only. `JSON.parse` maps different texts onto one value: the last of two equal names
 * wins, 9007199254740993 becomes …992, 1e400 becomes Infinity, bad UTF-8 becomes U+FFFD. Two different payments
 * would then share a fingerprint, so each of these is refused, as is what PostgreSQL cannot store (U+0000).
 * Rules: RFC 8259, RFC 7493 (I-JSON), RFC 8785 section 3.1. And no card number anywhere in it: this is the one place that
 * sees every member of every body, before anything could store or log one.
 *
 * @param bytes the body as it came; no byte at all is `{}`
 * @throws Problem 400 `invalid_json` or `card_number_refused`, with `param` where the place has a name
 */
export function parseStrictJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  const wary = mayHoldCardNumber(bytes);
  const text = decode(bytes);
  const value = parse(text, wary); // proves the grammar, and does not recurse: 100 000 open brackets are no danger to it
  new Inspection(text, wary).run();
  return value;
}

/** Nesting that no honest request needs; whatever walks the value later may then recurse without a thought. */
const MAX_DEPTH = 64;

/**
 * Twenty times what the largest honest checkout has. In memory a value takes many times the two bytes that may write it:
 * without this bound a body of 256 KiB is worth ten megabytes, and a few dozen of them the process.
 */
const MAX_VALUES = 10_000;

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }); // a BOM is kept, and refused by the grammar

function decode(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw invalidJson('The body is not valid UTF-8.');
  }
}

/** @param wary what is wrong is not quoted: it may be a card number */
function parse(text: string, wary: boolean): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidJson(`The body is not valid JSON${wary ? '' : `: ${(error as SyntaxError).message}`}.`);
  }
}

/** An object or array that the inspection is inside of. */
interface Container {
  /** The names seen so far; an array has none. */
  readonly names: Set<string> | undefined;
  /** The member or the index that is being read. */
  place: string | number;
  /** In an object: the next string is a name, not a value. */
  expectsName: boolean;
}

const enum Code {
  Quote = 0x22,
  Comma = 0x2c,
  Minus = 0x2d,
  Zero = 0x30,
  Nine = 0x39,
  OpenBracket = 0x5b,
  Backslash = 0x5c,
  CloseBracket = 0x5d,
  OpenBrace = 0x7b,
  CloseBrace = 0x7d,
}

/** One pass over a text that is known to be JSON, so that only what matters needs to be looked at. */
class Inspection {
  private readonly containers: Container[] = [];
  private at = 0;
  private values = 1;

  /** @param wary whether there may be a card number in it; what is escaped is looked at anyway */
  constructor(
    private readonly text: string,
    private readonly wary: boolean,
  ) {}

  run(): void {
    while (this.at < this.text.length) this.token(this.text.charCodeAt(this.at));
  }

  private token(code: number): void {
    if (code === Code.Quote) this.string();
    else if (code === Code.Minus || (code >= Code.Zero && code <= Code.Nine)) this.number();
    else this.structure(code);
  }

  private structure(code: number): void {
    this.at++;
    if (code === Code.OpenBrace) this.open({ names: new Set(), place: '', expectsName: true });
    else if (code === Code.OpenBracket) this.open({ names: undefined, place: 0, expectsName: false });
    else if (code === Code.CloseBrace || code === Code.CloseBracket) this.containers.pop();
    else if (code === Code.Comma) this.next();
  }

  private open(container: Container): void {
    this.oneMore();
    this.containers.push(container);
    if (this.containers.length > MAX_DEPTH)
      throw invalidJson(`The body is nested deeper than ${MAX_DEPTH} levels.`);
  }

  private next(): void {
    this.oneMore();
    const container = this.containers.at(-1)!;
    if (typeof container.place === 'number') container.place++;
    else container.expectsName = true;
  }

  /** What opens has a first value, what a comma separates a further one. */
  private oneMore(): void {
    this.values++;
    if (this.values > MAX_VALUES) throw invalidJson(`The body has more than ${MAX_VALUES} values.`);
  }

  private string(): void {
    const start = this.at;
    const escaped = this.skipString();
    const container = this.containers.at(-1);
    if (container?.expectsName) return this.name(container, start, escaped);
    if (escaped) this.refuseUnstorable(this.unescape(start));
    if (escaped || this.wary)
      this.refuseCardNumber(escaped ? this.unescape(start) : this.text.slice(start, this.at));
  }

  /** Moves behind the closing quote. @returns whether anything in the string was escaped */
  private skipString(): boolean {
    let escaped = false;
    for (this.at++; this.text.charCodeAt(this.at) !== Code.Quote; this.at++) {
      if (this.text.charCodeAt(this.at) !== Code.Backslash) continue;
      escaped = true;
      this.at++;
    }
    this.at++;
    return escaped;
  }

  private unescape(start: number): string {
    return JSON.parse(this.text.slice(start, this.at)) as string;
  }

  private name(container: Container, start: number, escaped: boolean): void {
    const name = escaped ? this.unescape(start) : this.text.slice(start + 1, this.at - 1);
    container.expectsName = false;
    if (escaped || this.wary) this.refuseCardNumber(name, this.containers.slice(0, -1)); // and not named by itself
    container.place = name;
    if (escaped) this.refuseUnstorable(name);
    if (container.names!.has(name)) this.refuse('appears twice');
    if (name in Object.prototype) this.refuse('is not a name that a member may have');
    container.names!.add(name);
  }

  /** Both can only be written as escapes: a raw U+0000 is not JSON, half a pair is not UTF-8. */
  private refuseUnstorable(value: string): void {
    if (value.includes('\0')) this.refuse('contains U+0000, which cannot be stored');
    if (!value.isWellFormed()) this.refuse('contains half of a surrogate pair');
  }

  private number(): void {
    const start = this.at;
    while (/[-+.\deE]/.test(this.text[this.at] ?? '')) this.at++;
    const number = this.text.slice(start, this.at);
    if (this.wary) this.refuseCardNumber(number);
    if (!keepsItsValue(number))
      this.refuse(`holds a number that would not keep its value: ${number.slice(0, 40)}`);
  }

  private refuseCardNumber(text: string, place: readonly Container[] = this.containers): void {
    if (hasCardNumber(text)) throw cardNumberRefused(pathOf(place));
  }

  private refuse(why: string): never {
    const param = pathOf(this.containers);
    throw invalidJson(param ? `${param} ${why}.` : `The body ${why}.`, param);
  }
}

/** Fifteen digits always fit a double exactly; so nearly every number of a request needs no closer look. */
function keepsItsValue(number: string): boolean {
  return (number.length <= 15 && /^-?\d+$/.test(number)) || isSafeNumber(number);
}

/** `items[0].quantity` */
function pathOf(containers: readonly Container[]): string {
  return containers.reduce((path, { place }) => {
    if (typeof place === 'number') return `${path}[${place}]`;
    return path ? `${path}.${place}` : place;
  }, '');
}
