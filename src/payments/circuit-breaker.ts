/** Closed: calls go through. Open: none does. Half open: one does, to see whether the others may. */
export type Circuit = 'closed' | 'open' | 'half_open';

/**
 * Keeps calls from a system that is away: after so many failures in a row none is made for a while, then one, whose
 * outcome decides for the others. What is not called costs nobody a timeout, and does not hinder its recovery.
 *
 * Says only whether a call is made, and never what one that was made has come to. Libraries let whoever comes in the
 * half-open state wait for the probe, or judge by rates; here nobody waits, and one call that gets through is enough.
 */
export class CircuitBreaker {
  private circuit: Circuit = 'closed';
  private inARow = 0;
  private probesAt = 0;

  constructor(
    private readonly settings: { readonly failures: number; readonly openSeconds: number },
    /** Told when it opens and when it closes. */
    private readonly changed: (to: 'open' | 'closed') => void = () => undefined,
    /** Milliseconds, by a clock that never steps back. */
    private readonly now = () => performance.now(),
  ) {}

  get state(): Circuit {
    return this.circuit;
  }

  /**
   * Makes the call, unless the system is away: then `refuse` gives the outcome, from how many seconds to stay away.
   * @param failed whether an outcome speaks against the system's health; a call that throws does
   */
  async call<T>(
    make: () => Promise<T>,
    failed: (outcome: T) => boolean,
    refuse: (seconds: number) => T,
  ): Promise<T> {
    const probes = this.circuit !== 'closed';
    if (probes && !this.mayProbe()) return refuse(this.secondsLeft());
    if (probes) this.circuit = 'half_open';
    let away = true;
    try {
      const outcome = await make();
      away = failed(outcome);
      return outcome;
    } finally {
      if (probes || this.circuit === 'closed') this.note(away, probes); // what began before it opened decides nothing
    }
  }

  private mayProbe(): boolean {
    return this.circuit === 'open' && this.now() >= this.probesAt;
  }

  /** While the probe is out nobody knows; a second later somebody may. */
  private secondsLeft(): number {
    return Math.max(1, Math.ceil((this.probesAt - this.now()) / 1_000));
  }

  private note(away: boolean, probed: boolean): void {
    this.inARow = away ? this.inARow + 1 : 0;
    if (away && (probed || this.inARow >= this.settings.failures)) this.open();
    else if (probed) this.close();
  }

  private open(): void {
    if (this.circuit === 'closed') this.changed('open');
    this.circuit = 'open';
    this.probesAt = this.now() + this.settings.openSeconds * 1_000;
  }

  private close(): void {
    this.circuit = 'closed';
    this.changed('closed');
  }
}
