/** Makes a view of stock, and renders a view to its whole text. */
import fc from 'fast-check';
import { itemToJsonText, type InventoryItem } from '../../src/api/item.ts';
import { INT64_MAX, INT64_MIN } from '../../src/api/values.ts';
import { render } from '../../src/view/formats.ts';
import { createStyle } from '../../src/view/style.ts';
import type { Format, RowsView } from '../../src/view/view.ts';

export const PLAIN = await createStyle({ choice: 'never', env: {}, isTTY: true });

export function view(items: readonly InventoryItem[], header = true): RowsView<InventoryItem> {
  return {
    view: 'rows',
    columns: (['petId', 'quantity', 'status'] as const).map((name) => ({ name, cell: (item) => item[name] })),
    rows: (async function* () {
      for (let i = 0; i < items.length; i += 3) yield items.slice(i, i + 3);
    })(),
    jsonText: itemToJsonText,
    header,
    empty: '',
  };
}

/** @param pieces gets the text as it comes, also of a view that fails */
export async function text(
  shown: Parameters<typeof render>[0],
  format: Format,
  screen: { width?: number } = {},
  pieces: string[] = [],
): Promise<string> {
  const options = {
    now: 0,
    width: undefined,
    ...screen,
    format,
    redact: String,
    style: PLAIN,
  };
  for await (const piece of render(shown, options)) pieces.push(String(piece));
  return pieces.join('');
}

export const anyItem = fc.record({
  petId: fc.bigInt({ min: INT64_MIN, max: INT64_MAX }),
  quantity: fc.oneof(fc.bigInt({ min: -9n, max: 9n }), fc.bigInt()),
  status: fc.oneof(fc.constantFrom('available', 'pending', 'sold'), fc.string({ unit: 'binary' })),
});
