import { median, type Measured } from '../measure.js';
import { quantile, type Goal } from '../outcome.js';
import { withReaper, type Grown, type Served } from './serve.js';

/** What years of finished checkouts may cost. @param all the first is what the others are compared with */
export function goals([first, ...others]: readonly Grown[], { windows, reaped }: Served): Goal[] {
  const empty = middle(windows, first!.name);
  return others.flatMap(({ name }) => {
    const [quiet, reaping] = [middle(windows, name), middle(windows, withReaper(name))];
    const perCheckout = reaped
      .filter((each) => each.name === name)
      .map(({ deletedPerSecond, checkoutsPerSecond }) => deletedPerSecond / checkoutsPerSecond);
    return [
      {
        goal: `${name}: checkouts/s ÷ ${first!.name}`,
        figure: quiet.perSecond / empty.perSecond,
        atLeast: 0.85,
      },
      { goal: `${name}: p99 ÷ ${first!.name}`, figure: quiet.p99 / empty.p99, atMost: 1.3 },
      { goal: `${name}: rows reaped per checkout`, figure: quantile(perCheckout, 0.5), atLeast: 5 },
      { goal: `${name}: p99 ÷ without the reaper`, figure: reaping.p99 / quiet.p99, atMost: 1.5 },
    ];
  });
}

export function middle(windows: readonly Measured[], name: string): Measured {
  return median(windows.filter((each) => each.name === name));
}
