import { existsSync } from 'node:fs';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

const USUAL_PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/** CHROMIUM_PATH, or where Chromium and Chrome usually are. */
export function findBrowser(): string | undefined {
  return process.env['CHROMIUM_PATH'] ?? USUAL_PLACES.find((path) => existsSync(path));
}

export function openBrowser(executablePath: string): Promise<Browser> {
  const asRoot = process.getuid?.() === 0; // its own sandbox refuses to work for root
  return chromium.launch({ executablePath, args: asRoot ? ['--no-sandbox'] : [] });
}

/** A page of the lab, and everything that it should not have done. */
export interface LabPage {
  readonly page: Page;
  /** Console errors, exceptions, and requests to anywhere else. */
  readonly offences: string[];
  /** Layout shift since the page was ready, without what follows a click within half a second. */
  readonly shift: () => Promise<number>;
  readonly close: () => Promise<void>;
}

export async function openPage(
  browser: Browser,
  url: string,
  query = '',
  options: BrowserContextOptions = {},
): Promise<LabPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const offences: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') offences.push(message.text());
  });
  page.on('pageerror', (error) => offences.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`)) offences.push(`request to ${request.url()}`);
  });
  await page.goto(`${url}/${query}`);
  await page.waitForSelector('html[data-ready]');
  await page.waitForSelector('#health .well'); // the lists are there
  await page.evaluate(WATCH_SHIFTS);
  return { page, offences, shift: () => page.evaluate('window.shifted'), close: () => context.close() };
}

/** Runs in the browser. */
const WATCH_SHIFTS = `
  window.shifted = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shifted += value;
  }).observe({ type: 'layout-shift' });`;

/** Presses the button and waits for the end of the run. */
export async function run(page: Page): Promise<void> {
  await page.click('#run');
  await untilOver(page);
}

export async function untilOver(page: Page): Promise<void> {
  await page.waitForSelector('#lesson.told', { state: 'attached', timeout: 80_000 });
}
