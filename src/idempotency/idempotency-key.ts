/** Thrown for a key that cannot be read; `reason` says what is wrong with it, in a sentence for the client. */
export class MalformedKey extends Error {
  constructor(readonly reason: string) {
    super(reason);
    this.name = 'MalformedKey';
  }
}

/** Stripe's limit, counted on the unquoted value. */
export const MAX_KEY_LENGTH = 255;

/** Bare keys, as the large payment SDKs send them: a token, also with `:`, `/`, `=` and `@`. */
const BARE = /^[A-Za-z0-9_~.+/-][!#$%&'*+.^_`|~0-9A-Za-z:/=@-]*$/;

/** Quoted keys, as the IETF draft has them: an RFC 9651 string, and parameters, which are ignored. */
const CHARACTER = String.raw`(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])`;
const ITEM = [
  String.raw`-?\d{1,12}\.\d{1,3}`,
  String.raw`-?\d{1,15}`,
  `"${CHARACTER}*"`,
  String.raw`[A-Za-z*][!#$%&'*+.^_\x60|~0-9A-Za-z:/-]*`,
  String.raw`:[A-Za-z0-9+/=]*:`,
  String.raw`\?[01]`,
  String.raw`@-?\d{1,15}`,
  String.raw`%"(?:[\x20\x21\x23\x24\x26-\x7e]|%[0-9a-f]{2})*"`,
].join('|');
const PARAMETER = String.raw`; *[a-z*][a-z0-9_.*-]*(?:=(?:${ITEM}))?`;
const QUOTED = new RegExp(`^"(${CHARACTER}*)"(?:${PARAMETER})*$`);

/**
 * Reads the value of one `Idempotency-Key` field line. `k` and `"k"` name the same key, so that a client library
 * that changes from one form to the other replays and does not charge again.
 * Sources: draft-ietf-httpapi-idempotency-key-header-07, RFC 9651; length and bare form: Stripe.
 * @throws MalformedKey
 */
export function parseIdempotencyKey(value: string): string {
  const key = value.startsWith('"') ? unquote(value) : bare(value);
  if (key === '') throw new MalformedKey('The key is empty.');
  if (key.length > MAX_KEY_LENGTH) {
    throw new MalformedKey(`The key has ${key.length} characters; at most ${MAX_KEY_LENGTH} are allowed.`);
  }
  return key;
}

function unquote(value: string): string {
  const [, content] = QUOTED.exec(value) ?? [];
  if (content === undefined) {
    throw new MalformedKey('The quoted key is malformed: it must be printable ASCII between two quotes.');
  }
  return content.replaceAll(/\\(["\\])/g, '$1');
}

function bare(value: string): string {
  if (value !== '' && !BARE.test(value)) {
    throw new MalformedKey(
      'The key has a character that is not allowed: use letters, digits and _ ~ . + / - : = @, or quote the key.',
    );
  }
  return value;
}
