/**
 * The servers that a URL names, as libpq writes several: `postgres://user:password@one:5432,two:5432/name`.
 * @returns a URL for each, in order
 */
export function addressesOf(url: string): string[] {
  const [, before = '', hosts = '', after = ''] = /^([^/]*\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(url) ?? [];
  return before === '' ? [url] : hosts.split(',').map((host) => before + host + after);
}
