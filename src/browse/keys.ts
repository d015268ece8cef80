/** The keys of `inventory browse`, as its last line and its help show them. */
import { BETWEEN, type Paint } from './paint.ts';

interface KeyText {
  readonly key: string;
  /** What the last line shows: with the key at most 20 columns. */
  readonly label: string;
  readonly text: string;
}

/** The most important first: as many as fit. */
const KEYS: readonly KeyText[] = [
  { key: '^X', label: 'apply', text: 'show all changes, and apply them' },
  { key: 'Enter', label: 'set', text: 'type the quantity (12), or what to add (+3) or take away (-3); also =' },
  { key: '?', label: 'help', text: 'this page' },
  { key: '^C', label: 'leave', text: 'leave; changes can be kept for later (also ^D, ^Q)' },
  { key: '^Z', label: 'undo', text: 'take the last change back (^Y makes it again)' },
  { key: 'a-z', label: 'search', text: 'search by id, name or barcode; Backspace, ^U' },
  { key: '←→', label: 'by one', text: 'one less, one more' },
  { key: 'Ins', label: 'mark', text: 'mark pets that are changed together, also ^Space (^A: all that are shown)' },
  { key: '^O', label: 'history', text: 'the last changes of the pet at the cursor, made from this machine' },
  { key: 'Tab', label: 'status', text: 'only one status, then the next (Shift-Tab: the one before)' },
  { key: '^L', label: 'low stock', text: 'only low stock' },
  { key: '^P', label: 'changed', text: 'only pets with changes' },
  { key: '^W', label: 'why', text: 'note a cause and a remark for the changes' },
  { key: '^S', label: 'sort', text: 'sort by another column' },
  { key: '^R', label: 'refresh', text: 'read the stock again (Esc stops it)' },
  { key: 'Esc', label: 'all', text: 'show all pets again' },
  { key: 'Del', label: 'restore', text: 'take the change back, of this pet or those marked' },
  { key: '↑↓', label: 'move', text: 'move (also PageUp, PageDown, Home, End, a click, the wheel)' },
];
const KEY_WIDTH = Math.max(...KEYS.map(({ key }) => key.length));
const FULL_WIDTH = Math.max(...KEYS.map(({ text }) => KEY_WIDTH + BETWEEN.length + text.length));

/** Returns the keys that matter most, as many as fit, none of them cut. */
export function keyBar(columns: number, paint: Paint): string {
  return keyLines(columns, paint)[0] ?? '';
}

/** Returns all keys: a line each where there is room for it. */
export function keyHelp({ columns, rows, paint }: { columns: number; rows: number; paint: Paint }): string[] {
  if (KEYS.length > rows || FULL_WIDTH > columns) return keyLines(columns, paint);
  return KEYS.map(({ key, text }) => `${paint.reverse(key)}${' '.repeat(KEY_WIDTH - key.length)}${BETWEEN}${text}`);
}

function keyLines(columns: number, paint: Paint): string[] {
  const lines: string[][] = [];
  let width = Number.POSITIVE_INFINITY;
  for (const { key, label } of KEYS) {
    const own = key.length + 1 + label.length;
    width += BETWEEN.length + own;
    if (width > columns) {
      lines.push([]);
      width = own;
    }
    lines.at(-1)?.push(`${paint.reverse(key)} ${label}`);
  }
  return lines.map((keys) => keys.join(BETWEEN));
}
