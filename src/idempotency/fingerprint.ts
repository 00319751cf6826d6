import { hash, timingSafeEqual } from 'node:crypto';
import canonicalize from 'canonicalize';

/** The parts of a request that make it this request and no other. Headers are none of them: a retry may differ there. */
export interface FingerprintedRequest {
  readonly method: string;
  /** As requested, with its query: `/v1/orders?x=1`. The API's version is part of the path. */
  readonly url: string;
  /** The strictly parsed JSON body, as it was sent: before defaults, which change between deploys. */
  readonly body: unknown;
}

export interface Fingerprint {
  /** How it was made; only fingerprints of one scheme can be compared. */
  readonly scheme: number;
  readonly hash: Buffer;
  /** A short keyed hash per part, to name what differs without storing the values. Made when asked for: a replay needs none. */
  readonly members: Readonly<Record<string, string>>;
}

const SCHEME = 1;

/** 48 bits tell two values of one member apart; they are no use for guessing one, as the hash is keyed. */
const MEMBER_HASH_BYTES = 6;

/**
 * SHA-256 over scheme, method, path, canonical query and the RFC 8785 form of the body: other white space, other
 * order of members and other spellings of a number are the same request.
 * @param notFingerprinted JSON pointers of top-level members that may change from one retry to the next
 */
export function fingerprint(
  { method, url, body }: FingerprintedRequest,
  secret: string,
  notFingerprinted: readonly string[] = [],
): Fingerprint {
  const [path = '', query = ''] = splitOnce(url, '?');
  const parts: [name: string, value: string][] = [
    ['method', method],
    ['path', path],
    ['query', canonicalQuery(query)],
    ...bodyParts(body, notFingerprinted),
  ];
  const text = parts.map(([name, value]) => `${JSON.stringify(name)}:${value.length}:${value}\n`).join('');
  let members: Fingerprint['members'] | undefined;
  return {
    scheme: SCHEME,
    hash: hash('sha256', `${SCHEME}\n${text}`, 'buffer'),
    get members() {
      return (members ??= memberHashes(secret, parts));
    },
  };
}

/** The names of the parts that differ between two of one scheme; empty when they are the same request. */
export function differences(stored: Fingerprint, sent: Fingerprint): string[] {
  if (timingSafeEqual(stored.hash, sent.hash)) return [];
  const names = [...new Set([...Object.keys(stored.members), ...Object.keys(sent.members)])];
  const differing = names.filter((name) => stored.members[name] !== sent.members[name]);
  return (differing.length > 0 ? differing : ['body']).map(withoutPointer);
}

/** `/amount` → `amount`, as the client wrote it; `method`, `path`, `query` and `body` are no pointers. */
function withoutPointer(name: string): string {
  return name.replace(/^\//, '');
}

/** One part per top-level member, named by its pointer; a body that is no object is one part. Sorted as RFC 8785 sorts, by UTF-16 unit. */
function bodyParts(body: unknown, notFingerprinted: readonly string[]): [string, string][] {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return [['body', canonical(body)]];
  return Object.entries(body)
    .map(([name, value]): [string, string] => [`/${name}`, canonical(value)])
    .filter(([pointer]) => !notFingerprinted.includes(pointer))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

function canonical(value: unknown): string {
  return canonicalize(value) ?? '';
}

/** Decoded, in the order of names; the order within one name has meaning and stays. */
function canonicalQuery(query: string): string {
  if (query === '') return '';
  const parameters = new URLSearchParams(query);
  parameters.sort();
  return parameters.toString();
}

function memberHashes(secret: string, parts: readonly [string, string][]): Record<string, string> {
  return Object.fromEntries(parts.map(([name, value]) => [name, memberHash(secret, name, value)]));
}

/** Keyed by its beginning, a fifth of the cost of an HMAC: that guards against longer texts, and this is cut to 48 bits. */
function memberHash(secret: string, name: string, value: string): string {
  return hash('sha256', `${secret}\0${name}\0${value}`, 'buffer').toString('base64url', 0, MEMBER_HASH_BYTES);
}

function splitOnce(text: string, separator: string): [string, string?] {
  const index = text.indexOf(separator);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)];
}
