/** How a table shows the command that made a change. */
import { expect, it } from 'vitest';
import { commandWords } from '../../src/stock/history-view.ts';

it.each([
  ['set', 'set'],
  ['inventory import /data/stock.csv', 'import stock.csv'],
  ['inventory import --add /data/stock.csv', 'import --add stock.csv'],
  ['inventory import -', 'import -'],
  ['inventory import --add /data/of the shop/stock.csv', 'import --add stock.csv'],
  ['inventory import of the shop/may stock.csv', 'import may stock.csv'],
  ['inventory import C:\\Users\\Jo Doe\\stock.csv', 'import stock.csv'],
  ['inventory import /data/a\\b.csv', 'import a\\b.csv'],
  ['inventory import C:\\data\\stock.csv', 'import stock.csv'],
  ['inventory import --add C:\\shop\\data/stock.csv', 'import --add stock.csv'],
  ['inventory import \\\\server\\data\\stock.csv', 'import stock.csv'],
])('%s is shown as %s', (command, words) => {
  expect(commandWords(command)).toBe(words);
});
