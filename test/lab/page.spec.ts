import type { Browser, Page } from 'playwright-core';
import { SCENARIOS } from '../../src/sandbox/lab/scenarios.js';
import { childrenOf } from '../support/processes.js';
import { findBrowser, openBrowser, openPage, run, untilOver } from './browser.js';
import { startLab, type StartedLab } from './lab.js';

const executable = findBrowser();
const why = executable ? '' : ' (skipped: no Chromium or Chrome found; set CHROMIUM_PATH to one)';

(executable ? describe : describe.skip)(`The page of the lab${why}`, () => {
  let lab: StartedLab;
  let browser: Browser;
  beforeAll(async () => {
    [lab, browser] = await Promise.all([startLab(), openBrowser(executable!)]);
  });
  afterAll(async () => {
    await browser.close();
    await lab.stop();
  });

  const texts = (page: Page, selector: string) => page.locator(selector).allTextContents();
  const shows = (page: Page, selector: string, hasText: RegExp) =>
    page.locator(selector, { hasText }).waitFor();
  const scoresOf = async (page: Page) =>
    Promise.all(
      (await page.locator('.score').all()).map(async (score) => [
        ...(await score.locator('output').allTextContents()).map(Number),
        /right/.test((await score.getAttribute('class')) ?? ''),
      ]),
    );

  /** A charge and a receipt for each purchase; the acts that show a mistake end in red. */
  const WRONG: Record<string, number[]> = {
    'double-click-two-keys': [2, 2, 2],
    'key-per-attempt': [2, 2, 2],
    'key-per-session': [1, 1, 1],
    'expired-key': [2, 2, 2],
  };
  const RIGHT: Record<string, number[]> = {
    declined: [1, 0, 0],
    'another-tenant': [2, 2, 2],
    'key-per-session': [2, 2, 2],
  };

  it.each(SCENARIOS.map(({ id }) => id))(
    'plays to the verdict, and nothing moves under the eye: %s',
    async (id) => {
      const { page, offences, shift, close } = await openPage(browser, lab.url, `?scenario=${id}`);
      await run(page);
      const right = [...(RIGHT[id] ?? [1, 1, 1]), true];
      expect(await scoresOf(page)).toEqual(WRONG[id] ? [[...WRONG[id], false], right] : [right]);
      expect(await page.getAttribute('.station[aria-current]', 'data-point')).toBe('finished');
      expect(await texts(page, '.happening .words p')).not.toContain('');
      expect(await shift()).toBeLessThan(0.01);
      expect(offences).toEqual([]);
      await close();
    },
  );

  it('can be used with the keyboard alone', async () => {
    const { page, close } = await openPage(browser, lab.url, '?scenario=happy-path');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the stage');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.id')).toBe('run');
    await page.keyboard.press('Enter');
    await untilOver(page);

    await page.focus('#happenings');
    await page.keyboard.press('Home');
    expect(await texts(page, '[aria-selected="true"] strong')).toEqual(['Request 1 · key A']);
    expect(await page.textContent('#row')).toContain('recovery_point–');
    await page.keyboard.press('ArrowDown');
    expect(await page.textContent('#row')).toContain('recovery_pointorder_created');
    expect(await page.getAttribute('.station[aria-current]', 'data-point')).toBe('order_created');
    await page.keyboard.press('End');
    expect(await page.textContent('#row')).toContain('recovery_pointfinished');
    await close();
  });

  it('fits a phone, before and after a run', async () => {
    const phone = { viewport: { width: 375, height: 740 }, isMobile: true, hasTouch: true };
    const { page, shift, close } = await openPage(browser, lab.url, '?scenario=key-per-attempt', phone);
    const width = () => page.evaluate<number>('document.documentElement.scrollWidth');
    expect(await width()).toBe(375);
    await run(page);
    expect(await width()).toBe(375);
    expect(await shift()).toBeLessThan(0.01);
    await page.goto(`${lab.url}/?clicks=twice&service=phase.before_commit:finished=lose_commit_answer`);
    await page.waitForSelector('html[data-ready]');
    expect(await width()).toBe(375);
    await close();
  });

  it.each(['light', 'dark'] as const)('can be read in the %s', async (colorScheme) => {
    const { page, close } = await openPage(browser, lab.url, '', { colorScheme, reducedMotion: 'reduce' });
    await run(page);
    expect(await page.evaluate<string[]>(UNREADABLE)).toEqual([]);
    const ground = await page.evaluate<number>(
      `(${luminance})(getComputedStyle(document.body).backgroundColor)`,
    );
    expect(ground < 0.5).toBe(colorScheme === 'dark');
    expect(await page.evaluate('document.getAnimations().length')).toBe(0);
    await close();
  });

  it('is shared by its address, also when it is composed', async () => {
    const { page, close } = await openPage(browser, lab.url, '?scenario=declined');
    expect(await page.textContent('h1')).toBe('The card is declined');
    await page.click('#compose');
    await page.selectOption('select[name=clicks]', 'twice');
    expect(new URL(page.url()).search).toBe('?clicks=twice&card=declined&then=again');
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    expect(await page.inputValue('select[name=clicks]')).toBe('twice');
    await run(page);
    expect(await scoresOf(page)).toEqual([[1, 0, 0, true]]);
    await page.goBack();
    expect(await page.inputValue('select[name=clicks]')).toBe('once');
    await close();
  });

  it('says that it is busy, and shows nothing of another’s run', async () => {
    const one = await openPage(browser, lab.url, '?scenario=mail-down');
    const other = await openPage(browser, lab.url, '?scenario=declined');
    await one.page.click('#run');
    await one.page.waitForSelector('.happening');
    await other.page.click('#run');
    await shows(other.page, '#status', /busy with/);
    await untilOver(one.page);
    expect(await scoresOf(one.page)).toEqual([[1, 1, 1, true]]);
    expect(await texts(other.page, '.happening')).toEqual([]);
    await run(other.page);
    expect(await scoresOf(other.page)).toEqual([[1, 0, 0, true]]);
    await Promise.all([one.close(), other.close()]);
  });

  it('lists what is in the service', async () => {
    const { page, close } = await openPage(browser, lab.url);
    for (const list of ['Keys', 'Orders', 'Mails'])
      await page.waitForSelector(`ul[aria-label="${list}"] time`);
    for (const list of ['Dead letters', 'Reviews'])
      expect(await page.textContent(`ul[aria-label="${list}"]`)).toMatch(/^None/);
    await close();
  });

  it('says plainly when the service is down, and when the lab is', async () => {
    const { page, close } = await openPage(browser, lab.url);
    const [worker] = childrenOf(lab.sandbox.pid).filter(({ command }) => command.includes('src/main.js'));
    process.kill(worker!.pid, 'SIGSTOP');
    await shows(page, '#trouble', /The service is down: (api|worker) does not answer/);
    process.kill(worker!.pid, 'SIGCONT');
    await page.waitForSelector('#trouble', { state: 'hidden' });
    await lab.stop();
    await shows(page, '#trouble', /The lab cannot be reached/);
    await close();
    lab = await startLab();
  });
});

const luminance = `(colour) => {
  const [r, g, b] = colour.match(/[\\d.]+/g).map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}`;

/** Texts with less contrast than WCAG asks for (4.5 to 1), by the nearest ground that is not see-through. */
const UNREADABLE = `(() => {
  const luminance = ${luminance};
  const groundOf = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const { backgroundColor } = getComputedStyle(each);
      if (/^rgb\\(/.test(backgroundColor)) return backgroundColor;
    }
    return 'rgb(255, 255, 255)';
  };
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  return [...document.querySelectorAll('body *')].filter(hasText).filter((element) => element.checkVisibility())
    .filter((element) => !element.matches('option, :disabled'))
    .filter((element) => {
      const [one, other] = [getComputedStyle(element).color, groundOf(element)].map(luminance);
      return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) < 4.5;
    })
    .map((element) => element.className + ' ' + element.textContent);
})()`;
