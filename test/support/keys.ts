/** Presses keys in `inventory browse`. */
import type { Browser } from '../../src/browse/browser.ts';
import { press, type Request } from '../../src/browse/keys.ts';
import type { Key } from '../../src/ports.ts';

/** `^X` is Ctrl-X, `<up>` a key by its name; anything else is typed. Returns what the last key asks for. */
export function pressKeys(browser: Browser, ...keys: string[]): Request | undefined {
  let request: Request | undefined;
  for (const key of keys.flatMap(keysOf)) request = press(browser, key);
  return request;
}

function keysOf(text: string): Key[] {
  const none = { ctrl: false, shift: false, text: '' };
  if (/^\^[A-Z]$/.test(text)) return [{ ...none, name: text.slice(1).toLowerCase(), ctrl: true }];
  if (/^<.+>$/.test(text)) return [{ ...none, name: text.slice(1, -1) }];
  return Array.from(text, (character) => ({ ...none, name: character.toLowerCase(), text: character }));
}
