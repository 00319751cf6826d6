/** Somebody else holds the key: the claim or the takeover came second. Read the row again. */
export class KeyTaken extends Error {
  constructor() {
    super('Another request has this key');
    this.name = 'KeyTaken';
  }
}

/**
 * The attempt no longer has its key: another owner took it over, or a person must decide. It must change nothing, and
 * answer nothing of its own: read the row again.
 */
export class LeaseLost extends Error {
  constructor() {
    super('This attempt no longer has its key');
    this.name = 'LeaseLost';
  }
}
