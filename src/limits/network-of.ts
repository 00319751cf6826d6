import ipaddr from 'ipaddr.js';

/** Whoever has one address of version 6 has 2⁶⁴ of them: they count as one. */
const BYTES_OF_A_NETWORK = 8;

/** The port that some proxies write behind an address, and the brackets that it needs in version 6; the interface. */
const BESIDE_ADDRESS = /^\[|\](:\d+)?$|(?<=^[\d.]+):\d+$|%.*$/g;

/** What an address is counted under. @param text of either version; one of version 4 may be written as version 6 */
export function networkOf(text: string): string {
  const address = text.replace(BESIDE_ADDRESS, '');
  if (!ipaddr.isValid(address)) return text; // a proxy that is trusted may write what it likes
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return parsed.toByteArray().slice(0, BYTES_OF_A_NETWORK).join('.');
}
