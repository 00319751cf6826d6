import { rm } from 'node:fs/promises';
import { copyBuild } from '../torture/build-copy.js';
import { mutate } from '../torture/mutants.js';
import { play, startLab, verdicts } from './lab.js';

/** A guard that is taken out of the service, a scenario that needs it, and what the lab must then say. */
const MUST_BE_RED: [mutant: string, scenario: string, tally: object, says: RegExp][] = [
  ['random-derived-keys', 'crash-after-charge', { orders: 1, charges: 2 }, /the customer pays too much/],
  ['random-derived-keys', 'timeout-charged', { orders: 1, charges: 2 }, /the customer pays too much/],
  ['timeout-taken-for-a-decline', 'timeout-charged', { charges: 1, receipts: 0 }, /no receipts sent/],
];

describe('The verdict of the lab is measured: with a guard taken out of the service it is red', () => {
  const mutants = [...new Set(MUST_BE_RED.map(([mutant]) => mutant))];

  describe.each(mutants)('%s', (mutant) => {
    let build: string;
    let lab: Awaited<ReturnType<typeof startLab>>;
    beforeAll(async () => {
      build = await copyBuild(`lab-${mutant}`);
      await mutate(build, mutant);
      lab = await startLab(build);
    });
    afterAll(async () => {
      await lab?.stop();
      await rm(build, { recursive: true, force: true });
    });

    it.each(MUST_BE_RED.filter(([broken]) => broken === mutant))(
      '%s, %s',
      async (_mutant, scenario, tally, says) => {
        const messages = await play(lab.url, { scenario });
        expect(verdicts(messages)).toEqual([
          expect.objectContaining({
            right: false,
            settled: true,
            tally: expect.objectContaining(tally),
            text: expect.stringMatching(says),
          }),
        ]);
      },
    );
  });
});
