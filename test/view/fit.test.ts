/** Tables on narrow terminals: which columns are dropped, and which are narrowed. */
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import type { RowsView } from '../../src/view/view.ts';
import { displayWidth, isLatin } from '../../src/view/width.ts';
import { text } from './rendered.ts';

interface Row {
  readonly id: bigint;
  readonly name: string;
}

function view(rows: readonly Row[]): RowsView<Row> {
  return {
    view: 'rows',
    columns: [
      { name: 'id', heading: 'id', cell: ({ id }) => id },
      { name: 'first', heading: 'first', cell: () => 'x', yields: 1 },
      { name: 'name', heading: 'name', cell: ({ name }) => name, yields: 2 },
      { name: 'last', heading: 'last', cell: ({ id }) => id },
    ],
    rows: [rows],
    jsonText: String,
    header: true,
    empty: '',
  };
}

const header = (shown: string): string[] => shown.match(/\b(id|first|name|last)\b/g) ?? [];
const widest = (shown: string): number => Math.max(...shown.split('\n').map(displayWidth));

describe('columns that yield', () => {
  it.each([
    [80, ['id', 'first', 'name', 'last']],
    [38, ['id', 'first', 'name', 'last']],
    [37, ['id', 'name', 'last']],
    [30, ['id', 'name', 'last']],
    // Nothing has to make room for the name any more.
    [29, ['id', 'first', 'last']],
    [25, ['id', 'first', 'last']],
  ])('between borders, %d columns wide', async (width, columns) => {
    const shown = await text(view([{ id: 12345n, name: 'Goldfishes' }]), 'table', { width });
    expect(header(shown)).toEqual(columns);
    expect(shown).toContain('┌');
    expect(widest(shown)).toBeLessThanOrEqual(width);
  });

  it('are all there in a pipe', async () => {
    const shown = await text(view([{ id: 1n, name: 'n'.repeat(300) }]), 'table');
    expect(header(shown)).toEqual(['id', 'first', 'name', 'last']);
  });

  it.each([
    [1_001, 80, ['id', 'first', 'name', 'last'], 'Goldfish, small and rather old'],
    [1_001, 35, ['id', 'first', 'name', 'last'], 'Goldfish, s…'],
    [1_001, 34, ['id', 'name', 'last'], 'Goldfish, small a…'],
    [1_001, 22, ['id', 'first', 'last'], undefined],
    [10_002, 80, ['id', 'first', 'name', 'last'], 'Goldfish, small and rather old'],
    [10_002, 35, ['id', 'first', 'name', 'last'], 'Goldfish, s…'],
    [10_002, 22, ['id', 'first', 'last'], undefined],
  ])('of %d rows, %d columns wide', async (count, width, columns, name) => {
    const rows = Array.from({ length: count }, (_, i) => ({
      id: 100_000n + BigInt(i),
      name: 'Goldfish, small and rather old',
    }));
    const batches = [rows.slice(0, -1), rows.slice(-1)];
    const shown = await text({ ...view([]), rows: batches }, 'table', { width });
    const lines = shown.trimEnd().split('\n');
    expect(lines).toHaveLength(count + 1);
    expect(header(lines[0]!)).toEqual(columns);
    expect(widest(shown)).toBeLessThanOrEqual(width);
    for (const line of [lines[1]!, lines.at(-1)!]) expect(/Gold.*?(?= {2}|$)/.exec(line)?.[0]).toBe(name);
  });
});

describe('a bar in a table', () => {
  const bars: RowsView<Row> = {
    ...view([{ id: 1n, name: '' }, { id: 2n, name: '' }]), // prettier-ignore
    columns: [
      { name: 'id', heading: 'id', cell: ({ id }) => id },
      { name: '', cell: () => '', bar: ({ id }) => [id, 2n], yields: 1 },
    ],
  };

  it('is drawn where there is room', async () => {
    expect(await text(bars, 'table')).toBe(`id  \n 1  ${'█'.repeat(10)}\n 2  ${'█'.repeat(20)}\n`);
    expect(await text(bars, 'table', { width: 29 })).toContain(`│  2 │ ${'█'.repeat(20)} │`);
    expect(await text(bars, 'table', { width: 16 })).toContain('│  1 │ ███▌    │\n│  2 │ ███████ │');
    expect(await text(bars, 'table', { width: 14 })).toContain('│  2 │');
    expect(await text(bars, 'table', { width: 14 })).not.toContain('█');
  });

  it('has its line without a name where each row becomes lines of its own', async () => {
    const wide = { name: 'wide', heading: 'wide', cell: () => 10n ** 30n };
    const rows = [[1n, 0n].map((id) => ({ id, name: '' }))];
    const shown = await text({ ...bars, rows, columns: [...bars.columns, wide] }, 'table', { width: 30 });
    const number = `wide: ${10n ** 30n}`;
    expect(shown.split('\n')).toEqual(['id: 1', '█'.repeat(10), number, '', 'id: 0', number, '', '']);
  });
});

it('Latin letters need no tables: each is a column wide', () => {
  const latin = Array.from({ length: 0x400 }, (_, code) => String.fromCodePoint(code)).filter(isLatin);
  expect(latin).toContain('ö');
  expect(latin.filter((letter) => stringWidth(letter) !== 1)).toEqual([]);
});
