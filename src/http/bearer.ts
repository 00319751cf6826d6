/** RFC 6750; no credential of ours is longer, and nothing longer is worth hashing. */
const BEARER = /^Bearer +([\w.~+/-]{1,200}=*) *$/i;

/** @returns undefined where the header holds no bearer token */
export function bearerToken(header: string | undefined): string | undefined {
  return BEARER.exec(header ?? '')?.[1];
}
