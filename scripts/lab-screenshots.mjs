/**
 * Takes the pictures of the lab that the README shows, from a running sandbox (`npm start`): three scenarios, each run to
 * its verdict. Needs Chromium or Chrome: CHROMIUM_PATH, or /usr/bin/chromium.
 */
import { mkdir } from 'node:fs/promises';
import { chromium } from 'playwright-core';

const LAB = `http://127.0.0.1:${process.env.LAB_PORT ?? 4000}`;
const FOLDER = 'docs/images';
const SCENARIOS = ['crash-after-charge', 'slow-original', 'key-per-attempt'];

/** A scenario may wait for a lease, and for the worker's grace after it. */
const VERDICT_WITHIN_MS = 60_000;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [], // its own sandbox refuses to work for root
});
await mkdir(FOLDER, { recursive: true });
for (const scenario of SCENARIOS) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1240 }, reducedMotion: 'reduce' });
  await page.goto(`${LAB}/?scenario=${scenario}`);
  await page.waitForSelector('html[data-ready]');
  await page.getByRole('button', { name: 'Run it' }).click();
  await page.getByText('Done. Choose any line').waitFor({ timeout: VERDICT_WITHIN_MS });
  await page.screenshot({ path: `${FOLDER}/lab-${scenario}.png` });
  await page.close();
  console.log(`${FOLDER}/lab-${scenario}.png`);
}
await browser.close();
