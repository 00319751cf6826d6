/** RFC 6750. A signed token (JWT) has a thousand characters or two, an API key far less; nothing longer is worth a look. */
const BEARER = /^Bearer +([\w.~+/-]{1,4096}=*) *$/i;

/** @returns undefined where the header holds no bearer token */
export function bearerToken(header: string | undefined): string | undefined {
  return BEARER.exec(header ?? '')?.[1];
}
