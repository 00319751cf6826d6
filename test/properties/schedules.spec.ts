import fc from 'fast-check';
import { thoroughly } from '../support/thoroughly.js';
import { EVENTS } from './commands.js';
import { expectBooksInOrder, healed } from './invariants.js';
import { Model } from './model.js';
import { World } from './world.js';

/**
 * `npm run test:faults` tries more of them, SCHEDULES=1000 as many as one has time for. A schedule that fails is made
 * shorter and printed with its seed, path and replayPath: SEED=… SCHEDULE_PATH=… SCHEDULE_REPLAY_PATH=…
 * runs it again.
 */
const {
  SCHEDULES = thoroughly ? '100' : '12',
  SCHEDULE_PATH: path,
  SCHEDULE_REPLAY_PATH: replayPath,
} = process.env;

const schedules = fc.commands(EVENTS, { maxCommands: 24, size: 'max', ...(replayPath && { replayPath }) });

const parameters = {
  numRuns: Number(SCHEDULES),
  endOnFailure: path !== undefined,
  ...(path && { path }),
  interruptAfterTimeLimit: Number(SCHEDULES) * 2_000, // shrinking included
};

describe.each([
  ['phases joined', 'false'],
  ['every phase committed', 'true'],
])('Whatever happens, in whatever order, with %s', (_name, commitEveryPhase) => {
  let world: World;
  beforeAll(async () => void (world = await World.open({ COMMIT_EVERY_PHASE: commitEveryPhase })));
  afterAll(() => world.close());

  it(
    'a key is one purchase: one charge, one reply that never changes, and books that agree',
    async () => {
      const property = fc.asyncProperty(schedules, async (events) => {
        const model = new Model();
        await world.begin();
        await fc.asyncModelRun(() => ({ model, real: world }), events);
        await healed(model, world);
        await expectBooksInOrder(model, world);
      });
      await fc.assert(property, parameters);
    },
    Number(SCHEDULES) * 4_000 + 30_000,
  );
});
