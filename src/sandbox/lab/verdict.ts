import type { Tally, Verdict } from './events.js';
import { meant, type Recipe } from './recipe.js';
import type { Act } from './scenario.js';

/**
 * Right is: as many orders as purchases were meant, one charge and one receipt for each that could be paid. Nothing
 * of this is expected of a scenario by name; it is counted.
 */
export function judge({ title, recipe }: Act, act: number, tally: Tally, settled: boolean): Verdict {
  const purchases = meant(recipe);
  const payable = recipe.card === 'good' ? purchases : 0;
  const right = tally.orders === purchases && tally.charges === payable && tally.receipts === payable;
  return {
    act,
    title: title ?? null,
    meant: purchases,
    tally,
    right: settled && right,
    settled,
    text: settled ? sentence(recipe, tally, payable) : UNSETTLED,
  };
}

const UNSETTLED = 'Not settled yet: the worker goes on with it, and the lists below will show the end.';

function sentence(recipe: Recipe, { charges, receipts, orders, calls }: Tally, payable: number): string {
  const wanted = capitalised(`${count(meant(recipe), 'purchase')} meant`);
  if (charges > payable)
    return `${wanted}, and ${count(charges, 'charge')} made: the customer pays too much.`;
  if (charges < payable)
    return `${wanted}, and only ${count(charges, 'charge')} made: a purchase is missing.`;
  if (receipts !== payable) return `${wanted} and made, but ${count(receipts, 'receipt')} sent.`;
  if (payable === 0)
    return `${wanted}, none paid: ${count(orders, 'order')} left unpaid, nothing charged, no receipt.`;
  const asked =
    calls > charges
      ? ` The provider was asked ${calls === 2 ? 'twice' : `${inWords(calls)} times`} and charged once.`
      : '';
  return `${wanted}, ${count(charges, 'charge')} made, ${count(receipts, 'receipt')} sent.${asked}`;
}

function count(number: number, thing: string): string {
  return `${inWords(number)} ${thing}${number === 1 ? '' : 's'}`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function inWords(number: number): string {
  return ['no', 'one', 'two', 'three', 'four', 'five'][number] ?? String(number);
}
