import type { IncomingMessage } from 'node:http';
import { HOST } from '../settings.js';

/**
 * Only the lab's own page, opened on this machine, may use the lab. Another page in the same browser can send requests
 * here as well: under its own name, which `Origin` tells (CSRF), or under a name of its own that leads to this machine,
 * which `Host` tells (DNS rebinding). @returns what is wrong, for the client
 */
export function refuse({ method, headers }: IncomingMessage, port: number): string | undefined {
  const hosts = [`${HOST}:${port}`, `localhost:${port}`];
  const { host = '', origin } = headers;
  if (!hosts.includes(host)) return `The lab answers to ${hosts.join(' and ')} only.`;
  if (origin !== undefined && origin !== `http://${host}`) return 'The lab is used from its own page only.';
  if (method === 'GET' || method === 'HEAD') return undefined;
  if (origin === undefined && headers['sec-fetch-site'] !== undefined)
    return 'The lab is used from its own page only.';
  const type = headers['content-type']?.split(';')[0]?.trim();
  return type === 'application/json' ? undefined : 'Send application/json.';
}

/** Nothing but the lab's own files, no frame around it, and nothing that the browser guesses. */
export const SECURITY_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};
