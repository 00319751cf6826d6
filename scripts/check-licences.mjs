/**
 * Every package that the image ships has a licence that lets anyone run, change and sell what is built with it.
 * The lock file carries the licences, so nothing is asked of the network. A new one is a decision for people: add it here.
 */
import { readFileSync } from 'node:fs';

const ACCEPTED = [
  'MIT',
  'MIT-0',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  '0BSD',
  'BlueOak-1.0.0',
  'Unlicense',
  'Python-2.0',
];

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
const refused = shipped.filter(([, { license }]) => !accepted(license));

for (const [path, { license }] of refused) console.error(`licence: ${path} has ${license ?? 'none'}`);
console.log(
  `licence: ${shipped.length - refused.length} of ${shipped.length} shipped packages have an accepted licence`,
);
process.exitCode = refused.length > 0 ? 1 : 0;

/** "(MIT OR GPL-3.0)" is ours to choose from; "A AND B" binds to both. */
function accepted(license = '') {
  const alternatives = license.replace(/[()]/g, '').split(' OR ');
  return alternatives.some((alternative) =>
    alternative.split(' AND ').every((name) => ACCEPTED.includes(name)),
  );
}
