/** Opens the sandbox's page in a real browser: Debian's Chromium, or the one in PETSTORE_CHROMIUM. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const CHROMIUM = process.env.PETSTORE_CHROMIUM ?? '/usr/bin/chromium';

/** Describes what is missing; undefined if nothing is. */
export function missing(): string | undefined {
  return existsSync(CHROMIUM) ? undefined : `${CHROMIUM} does not exist`;
}

export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    // Headless, as root in a container, and without a word to anybody but this machine.
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
