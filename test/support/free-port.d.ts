/** A port of this host that nobody listens on. */
export function freePort(): Promise<number>;
