import { CHOICES, PLAIN, readRecipe } from '../../../src/sandbox/lab/recipe.js';
import { SCENARIOS } from '../../../src/sandbox/lab/scenarios.js';
import { Refusal } from '../../../src/sandbox/refusal.js';

describe('A recipe of the lab', () => {
  it('is complete when only what differs is given', () => {
    expect(readRecipe({})).toEqual(PLAIN);
    expect(readRecipe({ clicks: 'twice' })).toEqual({ ...PLAIN, clicks: 'twice' });
  });

  const NONE: unknown[] = [
    null,
    [],
    'once',
    { clicks: 'toString' },
    { clicks: ['once'] },
    { toString: 'once' },
    { fault: 'x' },
  ];
  it.each(NONE)('is refused where it is %j', (given) => {
    expect(() => readRecipe(given)).toThrow(Refusal);
  });

  it('is what every scenario is made of', () => {
    for (const { acts } of SCENARIOS)
      for (const { recipe } of acts) expect(Object.keys(recipe)).toEqual(Object.keys(CHOICES));
  });
});

describe('The scenarios of the lab', () => {
  it('have a name each, for the address of the page', () => {
    const ids = SCENARIOS.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(encodeURIComponent(id)).toBe(id);
  });

  it('show every way in which a client can go wrong', () => {
    const used = new Set(
      SCENARIOS.flatMap(({ acts }) => acts.flatMap(({ recipe }) => Object.values(recipe))),
    );
    for (const kind of ['clicks', 'key', 'client', 'then', 'card', 'ref'] as const)
      for (const choice of Object.keys(CHOICES[kind])) expect(used).toContain(choice);
  });
});
