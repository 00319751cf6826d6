import type { Recipe } from './recipe.js';

/** One checkout of a scenario, from the first click to the verdict. */
export interface Act {
  /** Where there are several: what this one is to show. */
  readonly title?: string;
  readonly recipe: Recipe;
}

export interface Scenario {
  /** In the address of the page. */
  readonly id: string;
  readonly group: string;
  readonly title: string;
  /** What happens, in a sentence or two. */
  readonly story: string;
  /** What to take away from it. */
  readonly lesson: string;
  readonly acts: readonly Act[];
}

/** What a person has put together. */
export function composed(recipe: Recipe): Scenario {
  return {
    id: 'composed',
    group: 'Yours',
    title: 'Your own',
    story: 'A checkout that you have put together.',
    lesson: '',
    acts: [{ recipe }],
  };
}
