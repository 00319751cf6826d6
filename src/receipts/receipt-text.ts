import type { Receipt } from './receipt.js';

export function textOf({ greeting, news, lines, total, facts }: Receipt): string {
  const rows = [...lines, total];
  const labelWidth = Math.max(...rows.map(({ label }) => label.length));
  const amountWidth = Math.max(...rows.map(({ amount }) => amount.length));
  const table = rows.map(
    ({ label, amount }) => `${label.padEnd(labelWidth)}  ${amount.padStart(amountWidth)}`,
  );
  const rule = '-'.repeat(labelWidth + 2 + amountWidth);
  return [
    greeting,
    '',
    news,
    '',
    ...table.slice(0, -1),
    rule,
    ...table.slice(-1),
    '',
    ...facts.map(({ label, value }) => `${`${label}:`.padEnd(8)}${value}`),
    '',
  ].join('\n');
}
