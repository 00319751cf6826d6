import { Logger } from '@nestjs/common';
import { BackgroundLoop, type Counts } from '../../../src/background/background-loop.js';

/** Work that a test leads: each round waits until the test says how it ends. */
class LedWork {
  rounds = 0;
  signal: AbortSignal | undefined;
  private begun = deferred<void>();
  private end = deferred<Counts>();

  async runOnce(signal: AbortSignal): Promise<Counts> {
    this.rounds += 1;
    this.signal = signal;
    this.end = deferred();
    const { end } = this;
    this.begun.resolve();
    return end.promise;
  }

  async begins(): Promise<void> {
    await this.begun.promise;
    this.begun = deferred();
  }

  ends(counts: Counts): void {
    this.end.resolve(counts);
  }

  fails(): void {
    this.end.reject(new Error('database is gone'));
  }
}

function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((...functions) => ([resolve, reject] = functions));
  return { promise, resolve, reject };
}

const A_DAY = 86_400_000;

describe('A background loop', () => {
  let work: LedWork;
  let loop: BackgroundLoop;
  beforeEach(() => {
    Logger.overrideLogger(false);
    work = new LedWork();
    loop = new BackgroundLoop('test', work, A_DAY);
    loop.start();
  });
  afterEach(async () => {
    work.ends({});
    await loop.stop();
  });

  it('goes on at once while there is work', async () => {
    for (let round = 0; round < 3; round++) {
      await work.begins();
      work.ends({ claimed: 1 });
    }
    await work.begins();
    expect(work.rounds).toBe(4);
  });

  it('rests when nothing was due, until it is nudged', async () => {
    await work.begins();
    work.ends({ claimed: 0 });
    await aMoment();
    expect(work.rounds).toBe(1);
    loop.nudge();
    await work.begins();
    expect(work.rounds).toBe(2);
  });

  it('does not miss a nudge that comes during a round', async () => {
    await work.begins();
    loop.nudge();
    work.ends({ claimed: 0 });
    await work.begins();
    expect(work.rounds).toBe(2);
  });

  it('survives what a round throws, and is not driven by nudges while it does', async () => {
    await work.begins();
    work.fails();
    await aMoment();
    loop.nudge();
    await aMoment();
    expect(work.rounds).toBe(1);
    await work.begins(); // after its pause
    expect(work.rounds).toBe(2);
  });

  it('runs once, however often it is started', async () => {
    loop.start();
    await work.begins();
    await aMoment();
    expect(work.rounds).toBe(1);
  });

  it('stops when the round under way has ended, which it tells to hurry', async () => {
    await work.begins();
    let stopped = false;
    const stopping = loop.stop().then(() => (stopped = true));
    await aMoment();
    expect(work.signal?.aborted).toBe(true);
    expect(stopped).toBe(false);
    work.ends({ claimed: 1 });
    await stopping;
    expect(work.rounds).toBe(1);
  });

  it('stops at once while it rests', async () => {
    await work.begins();
    work.ends({ claimed: 0 });
    await aMoment();
    await loop.stop();
    loop.nudge();
    await aMoment();
    expect(work.rounds).toBe(1);
  });
});

/** Every timer and promise that is due has had its turn. */
function aMoment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
