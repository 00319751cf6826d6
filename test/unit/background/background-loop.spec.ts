import { Logger } from '@nestjs/common';
import { BackgroundLoop, type Counts } from '../../../src/background/background-loop.js';
import { LoopMetrics } from '../../../src/background/loop-metrics.js';
import { Metrics } from '../../../src/metrics/metrics.js';

/** Work that a test leads: a round lasts until the test says how it ends. */
class LedWork {
  rounds = 0;
  signal: AbortSignal | undefined;
  private settle: { resolve: (counts: Counts) => void; reject: (error: Error) => void } | undefined;

  runOnce(signal: AbortSignal): Promise<Counts> {
    this.rounds += 1;
    this.signal = signal;
    return new Promise((resolve, reject) => (this.settle = { resolve, reject }));
  }

  ends(counts: Counts): void {
    this.settle?.resolve(counts);
  }

  fails(why = 'a round that threw'): void {
    this.settle?.reject(new Error(why));
  }
}

const { jest } = import.meta;
const IDLE_MS = 1_000;

describe('A background loop', () => {
  let work: LedWork;
  let loop: BackgroundLoop;
  beforeEach(() => {
    jest.useFakeTimers();
    Logger.overrideLogger(false);
    work = new LedWork();
    loop = new BackgroundLoop('test', work, new LoopMetrics(new Metrics()), IDLE_MS);
    loop.start();
  });
  afterEach(async () => {
    work.ends({});
    await loop.stop();
    jest.useRealTimers();
  });

  const pass = (milliseconds: number) => jest.advanceTimersByTimeAsync(milliseconds);

  it('goes on almost at once while there is work', async () => {
    work.ends({ claimed: 1 });
    await pass(19);
    expect(work.rounds).toBe(1);
    await pass(1);
    expect(work.rounds).toBe(2);
  });

  it('rests when nothing was due', async () => {
    work.ends({ claimed: 0, sent: 0 });
    await pass(IDLE_MS - 1);
    expect(work.rounds).toBe(1);
    await pass(1);
    expect(work.rounds).toBe(2);
  });

  it('ends that rest at once when it is nudged', async () => {
    work.ends({ claimed: 0 });
    await pass(1);
    loop.nudge();
    await pass(0);
    expect(work.rounds).toBe(2);
  });

  it('does not miss a nudge that comes during a round', async () => {
    loop.nudge();
    work.ends({ claimed: 0 });
    await pass(0);
    expect(work.rounds).toBe(2);
  });

  it('gathers what it is nudged for while it is busy', async () => {
    work.ends({ claimed: 1 });
    await pass(1);
    for (let commit = 0; commit < 5; commit++) loop.nudge();
    await pass(18);
    expect(work.rounds).toBe(1);
    await pass(1);
    expect(work.rounds).toBe(2);
  });

  it('survives what rounds throw, rests twice as long each time, and nudges do not drive it', async () => {
    for (const [failures, pause] of [500, 1_000, 2_000].entries()) {
      work.fails();
      await pass(pause - 1);
      loop.nudge();
      await pass(0);
      expect(work.rounds).toBe(failures + 1);
      await pass(1);
      expect(work.rounds).toBe(failures + 2);
    }
    work.ends({ claimed: 1 });
    await pass(20);
    work.fails(); // the first again
    await pass(500);
    expect(work.rounds).toBe(6);
  });

  it('says once, in a line, that the database is away, and again after it was there', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const away = async (rest: number) => {
      work.fails('Driver not Connected');
      await pass(rest);
    };
    await away(500);
    await away(1_000);
    await away(2_000);
    expect(warn.mock.calls).toEqual([['Waits for the database: Driver not Connected']]);
    work.ends({});
    await pass(IDLE_MS);
    await away(500);
    expect([warn.mock.calls.length, error.mock.calls.length]).toEqual([2, 0]);
    jest.restoreAllMocks();
  });

  it('runs once, however often it is started', async () => {
    loop.start();
    await pass(0);
    expect(work.rounds).toBe(1);
  });

  it('stops when the round under way has ended, which it tells to hurry', async () => {
    let stopped = false;
    const stopping = loop.stop().then(() => (stopped = true));
    await pass(IDLE_MS);
    expect(work.signal?.aborted).toBe(true);
    expect(stopped).toBe(false);
    work.ends({ claimed: 1 });
    await stopping;
    expect(work.rounds).toBe(1);
  });

  it('stops at once while it rests, and for good', async () => {
    work.ends({ claimed: 0 });
    await pass(1);
    await loop.stop();
    loop.nudge();
    await pass(IDLE_MS);
    expect(work.rounds).toBe(1);
  });
});
