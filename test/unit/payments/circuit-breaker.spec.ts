import fc from 'fast-check';
import { CircuitBreaker } from '../../../src/payments/circuit-breaker.js';

type Outcome = 'well' | 'away' | `refused for ${number} s`;

/** A breaker with a clock that is set by hand, and the calls that it let through. */
function breaker(failures = 3, openSeconds = 10) {
  let now = 0;
  let made = 0;
  const changes: string[] = [];
  const circuit = new CircuitBreaker(
    { failures, openSeconds },
    (to) => changes.push(to),
    () => now,
  );
  const call = (outcome: Outcome | Promise<Outcome>) =>
    circuit.call<Outcome>(
      () => {
        made += 1;
        return Promise.resolve(outcome);
      },
      (each) => each === 'away',
      (seconds) => `refused for ${seconds} s`,
    );
  return {
    circuit,
    changes,
    call,
    calls: async (...outcomes: Outcome[]) => {
      for (const outcome of outcomes) await call(outcome);
    },
    passSeconds: (seconds: number) => void (now += seconds * 1_000),
    made: () => made,
  };
}

/** A call that is out until it is told what it came to. */
function pending() {
  let answer!: (outcome: Outcome) => void;
  const outcome = new Promise<Outcome>((resolve) => (answer = resolve));
  return { outcome, answer };
}

describe('A circuit breaker', () => {
  it('opens after so many failures in a row, and not for as many with an answer in between', async () => {
    const { circuit, calls } = breaker(3);
    await calls('away', 'away', 'well', 'away', 'away');
    expect(circuit.state).toBe('closed');
    await calls('away');
    expect(circuit.state).toBe('open');
  });

  it('makes no call while it is open, and says for how long', async () => {
    const { call, calls, made, passSeconds } = breaker(1, 10);
    await calls('away');
    expect(await call('well')).toBe('refused for 10 s');
    passSeconds(8.5);
    expect(await call('well')).toBe('refused for 2 s');
    expect(made()).toBe(1);
  });

  it('then makes one call, and the others wait for nothing while it is out', async () => {
    const { circuit, call, calls, made, passSeconds } = breaker(1, 10);
    await calls('away');
    passSeconds(10);
    const probe = pending();
    const probed = call(probe.outcome);
    expect(circuit.state).toBe('half_open');
    expect([await call('well'), await call('away')]).toEqual(['refused for 1 s', 'refused for 1 s']);
    expect(made()).toBe(2);
    probe.answer('well');
    expect(await probed).toBe('well');
    expect(circuit.state).toBe('closed');
    expect(await call('well')).toBe('well');
  });

  it('opens for as long again where that one call fails', async () => {
    const { circuit, changes, call, calls, passSeconds } = breaker(3, 10);
    await calls('away', 'away', 'away');
    passSeconds(11);
    expect(await call('away')).toBe('away');
    expect(circuit.state).toBe('open');
    expect(await call('well')).toBe('refused for 10 s');
    passSeconds(10);
    expect(await call('well')).toBe('well');
    expect(changes).toEqual(['open', 'closed']); // told once an outage
  });

  it('does not hear of calls that began before it opened: neither good news nor bad', async () => {
    const { circuit, call, calls, passSeconds } = breaker(1, 10);
    const [late, later] = [pending(), pending()];
    const running = [call(late.outcome), call(later.outcome)];
    await calls('away');
    passSeconds(5);
    late.answer('away');
    later.answer('well');
    expect(await Promise.all(running)).toEqual(['away', 'well']);
    expect(circuit.state).toBe('open');
    expect(await call('well')).toBe('refused for 5 s');
  });

  it('takes a call that throws for a failure, and is not stuck with it', async () => {
    const { circuit, call, calls, passSeconds } = breaker(1, 10);
    await calls('away');
    passSeconds(10);
    await expect(call(Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(circuit.state).toBe('open');
    passSeconds(10);
    expect(await call('well')).toBe('well');
  });

  it('never changes what a call came to: an outcome is that of the call, or that none was made', async () => {
    const steps = fc.array(fc.record({ outcome: fc.constantFrom('well', 'away'), seconds: fc.nat(15) }));
    await fc.assert(
      fc.asyncProperty(steps, async (schedule) => {
        const { call, made, passSeconds } = breaker(2, 10);
        for (const { outcome, seconds } of schedule) {
          const before = made();
          const got = await call(outcome);
          if (made() > before) expect(got).toBe(outcome);
          else expect(got).toMatch(/^refused for /);
          passSeconds(seconds);
        }
      }),
    );
  });
});
