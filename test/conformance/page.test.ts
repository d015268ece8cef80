/** The sandbox's page in headless Chromium. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onCleanup } from '../support/cleanup.ts';
import { ask, control, patch, type Served, serveSandbox } from '../support/served.ts';
import { missing, openBrowser } from './browser.ts';

const why = missing();
if (why !== undefined) process.stderr.write(`Skipped: the sandbox's page in Chromium; ${why}.\n`);

describe.skipIf(why !== undefined)('the sandbox’s page', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  interface Shown {
    readonly page: Page;
    readonly served: Served;
    /** Errors of the page, and requests that went elsewhere. */
    readonly complaints: string[];
  }

  async function show(
    args: readonly string[] = [],
    options: Parameters<Browser['newContext']>[0] = {},
  ): Promise<Shown> {
    const served = await serveSandbox(args);
    const context = await browser.newContext(options);
    onCleanup(() => context.close());
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(served.baseUrl.replace(/v1$/, '')) && !request.url().startsWith('data:')) {
        complaints.push(request.url());
      }
    });
    await page.goto(served.baseUrl.replace(/v1$/, ''));
    await page.locator('#pet-rows tr').nth(24).waitFor();
    return { page, served, complaints };
  }

  it('shows the stock, ids digit for digit, without a request to the service', async () => {
    const { page, served, complaints } = await show();
    const last = page.locator('#pet-rows tr').last();
    expect(await last.locator('td').allTextContents()).toEqual(['9223372036854775807', 'Tarantula', '1', 'available']);
    expect(await page.locator('#base-url').textContent()).toBe(served.baseUrl);
    expect(await control(served.port, 'GET', '/requests')).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('streams requests in, with what is left of the allowance', async () => {
    const { page, served, complaints } = await show();
    await patch(served, 7, 77);
    await ask(served.port, '/v1/inventory');
    await page.getByRole('cell', { name: 'PATCH /v1/inventory/7' }).waitFor();
    await page.getByRole('cell', { name: 'GET /v1/inventory', exact: true }).waitFor();
    const rows = page.locator('#requests tr');
    const cells = await Promise.all([0, 1].map((i) => rows.nth(i).locator('td').allTextContents()));
    expect(cells.map(([, request, status, , left, why]) => [request, status, left, why])).toEqual([
      ['GET /v1/inventory', '401', '59/60', 'The API key is missing or invalid.'],
      ['PATCH /v1/inventory/7', '200', '59/60', ''],
    ]);
    await page.getByText('59 of 60 left this minute').waitFor();
    await page.getByRole('cell', { name: '77', exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('says why a request was refused', async () => {
    const { page, served } = await show(['--per-minute', '2']);
    await page.getByLabel('A rule of your own').fill('status=503,retry-after=2,nth=1');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.locator('#rules li').first().waitFor();
    for (const quantity of [1, 2, 3]) await patch(served, 7, quantity);
    await page.getByRole('cell', { name: 'fault: status (Retry-After: 2)' }).waitFor();
    await page.getByRole('cell', { name: /^The limit of 2 is used up: .* \(Retry-After: \d+\)$/ }).waitFor();
  });

  it('switches faults on and off', async () => {
    const { page, served } = await show();
    await page.getByLabel('No rate-limit headers').check();
    await page.getByText('no-header=limits').waitFor();
    expect((await patch(served, 7, 1)).headers).not.toHaveProperty('x-ratelimit-limit');
    await page.getByLabel('A rule of your own').fill('status=503,method=PATCH');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByText('status=503,method=PATCH').waitFor();
    expect((await patch(served, 7, 1)).status).toBe(503);
    await page.getByRole('button', { name: 'Remove status=503,method=PATCH' }).click();
    await page.getByLabel('No rate-limit headers').uncheck();
    await page.locator('#rules li').first().waitFor({ state: 'detached' });
    expect(await control(served.port, 'GET', '/faults')).toEqual([]);
  });

  it('loses no switch of several thrown at once', async () => {
    const { page, served } = await show();
    await page.evaluate('for (const box of document.querySelectorAll("#presets input")) box.click()');
    await page.locator('#rules li').nth(4).waitFor();
    expect(await control(served.port, 'GET', '/faults')).toHaveLength(5);
  });

  it('does not turn a switch back for an answer that was asked for before it', async () => {
    const { page, served } = await show();
    const held: (() => void)[] = [];
    const isHeld = page.waitForRequest('**/__sandbox/state');
    await page.route('**/__sandbox/state', async (route) => {
      const response = await route.fetch();
      await new Promise<void>((resolve) => {
        held.push(resolve);
      });
      await route.fulfill({ response });
    });
    await patch(served, 7, 1);
    await isHeld;
    const box = page.getByLabel('No rate-limit headers');
    const isSet = page.waitForResponse((response) => response.request().method() === 'PUT');
    await box.check();
    held.shift()?.();
    await isSet;
    expect(await box.isChecked()).toBe(true);
    // The page keeps asking: its requests end with it.
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('says what is wrong with a rule', async () => {
    const { page } = await show();
    await page.getByLabel('A rule of your own').fill('nonsense');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByRole('status').getByText('The fault "nonsense" must have exactly one effect').waitFor();
  });

  it('shows a ban, and lets time pass until it is over', async () => {
    const { page, served } = await show(['--per-minute', '1', '--ban-after', '1', '--ban-for', '1h']);
    for (const quantity of [1, 2, 3]) await patch(served, 7, quantity);
    await page.getByText(/banned until/).waitFor();
    await page.getByRole('button', { name: '+1 hour' }).click();
    await page.getByText(/banned until/).waitFor({ state: 'detached' });
    expect((await patch(served, 7, 4)).status).toBe(200);
  });

  it('puts the stock back', async () => {
    const { page, served } = await show();
    await patch(served, 7, 4_711);
    await page.getByRole('cell', { name: '4711' }).waitFor();
    await page.getByRole('button', { name: 'Reset stock and rate limits' }).click();
    await page.getByRole('cell', { name: '4711' }).waitFor({ state: 'detached' });
  });

  it.each(['light', 'dark'] as const)('has nothing that axe objects to, %s', async (colorScheme) => {
    const { page, served } = await show(['--per-minute', '2'], { colorScheme, bypassCSP: true });
    for (const quantity of [1, 2, 3]) await patch(served, 7, quantity);
    await page.getByText(/must wait until/).waitFor();
    await page.addScriptTag({ content: readFileSync(fileURLToPath(import.meta.resolve('axe-core')), 'utf8') });
    const found = await page.evaluate(
      'axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ target }) => target)]))',
    );
    expect(found).toEqual([]);
  });

  it.each([320, 360, 768, 1_600])('needs no sideways scrolling at %i pixels', async (width) => {
    const { page } = await show([], { viewport: { width, height: 800 } });
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });
});
