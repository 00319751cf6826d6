import { readRecipe, type Recipe } from '../../../src/sandbox/lab/recipe.js';
import { judge } from '../../../src/sandbox/lab/verdict.js';

describe('The verdict of the lab', () => {
  const verdict = (
    given: Partial<Recipe>,
    orders: number,
    charges: number,
    receipts: number,
    calls = charges,
  ) => judge({ recipe: readRecipe(given) }, 0, { orders, charges, receipts, calls }, true);

  it('is right where each purchase that was meant was made, charged and receipted once', () => {
    expect(verdict({}, 1, 1, 1)).toMatchObject({ meant: 1, right: true });
    expect(verdict({ then: 'second' }, 2, 2, 2)).toMatchObject({ meant: 2, right: true });
    expect(verdict({ then: 'tenant' }, 2, 2, 2)).toMatchObject({ meant: 2, right: true });
    expect(verdict({ card: 'declined' }, 1, 0, 0)).toMatchObject({ right: true });
  });

  it.each([
    ['a second charge', verdict({}, 2, 2, 2), /two charges made: the customer pays too much/],
    ['a purchase that was not made', verdict({ then: 'second' }, 1, 1, 1), /only one charge made/],
    ['a receipt that was not sent', verdict({}, 1, 1, 0), /no receipts sent/],
    ['a second receipt', verdict({}, 1, 1, 2), /two receipts sent/],
    ['a charge where the card was declined', verdict({ card: 'declined' }, 1, 1, 0), /one charge made/],
  ])('is wrong where there is %s, and says so', (_what, { right, text }, says) => {
    expect(right).toBe(false);
    expect(text).toMatch(says);
  });

  it('is wrong where an order is left over, although the money is right', () => {
    expect(verdict({}, 2, 1, 1).right).toBe(false);
  });

  it('says that the provider was asked more often than it charged', () => {
    expect(verdict({}, 1, 1, 1, 3).text).toMatch(/asked three times and charged once/);
  });

  it('does not judge what is not settled', () => {
    const tally = { orders: 1, charges: 1, receipts: 1, calls: 1 };
    const { right, text } = judge({ recipe: readRecipe({}) }, 0, tally, false);
    expect(right).toBe(false);
    expect(text).toMatch(/Not settled yet/);
  });
});
