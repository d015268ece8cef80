/** How `inventory import` asks at a terminal for columns that a file lacks. */
import { expect, it } from 'vitest';
import { fileIn } from '../support/home.ts';
import { runIn } from '../support/in-process.ts';
import { createTestContext, type TestContext } from '../support/test-context.ts';

async function imported(
  text: string,
  answers: readonly (string | boolean)[],
  { args = [], home }: { args?: readonly string[]; home?: TestContext['home'] } = {},
) {
  const context = createTestContext({ terminal: true, answers, env: { NO_COLOR: '1' }, ...(home && { home }) });
  const file = fileIn(context.home, 'slip.csv', text);
  const { code, stderr } = await runIn(context, '--env', 'sandbox', 'inventory', 'import', file, ...args);
  return { code, stderr, asked: context.questions.map(({ question }) => question) };
}

it('with --add, what is remembered adds, also without the option', async () => {
  const { home } = createTestContext();
  const once = await imported('petId;Arrived\n7;2\n', ['Arrived', true, true], { args: ['--add'], home });
  const twice = await imported('petId;Arrived\n7;3\n', [true, true], { home });
  expect([once.code, once.asked.at(-1)]).toEqual([0, 'Add 1 row to the stock in sandbox?']);
  expect([twice.code, ...twice.asked]).toEqual([
    0,
    'Read the file as before ("Arrived" is delta)?',
    'Add 1 row to the stock in sandbox?',
  ]);
});

it.each(['Article\n7\n', 'Article;Article\n7;2\n'])('are not asked for where there are too few: %j', async (text) => {
  const { code, stderr, asked } = await imported(text, []);
  expect({ code, asked }).toEqual({ code: 2, asked: [] });
  // On a terminal, lines are broken between words.
  expect(stderr.replace(/\s+/g, ' ')).toContain('no column is named petId or quantity (or delta)');
});

it('--map takes the place of what is remembered, and an answer may have capitals', async () => {
  const { home } = createTestContext();
  await imported('Article;Code;Pieces\n7;8;2\n', ['Article', 'petId', 'Pieces', 'Add', true, true], { home });
  const { code, asked } = await imported('Article;Code;Pieces\n7;8;3\n', [true, true], {
    args: ['--map', 'Code=petId'],
    home,
  });
  expect([code, ...asked]).toEqual([
    0,
    'Read the file as before ("Pieces" is delta)?',
    'Add 1 row to the stock in sandbox?',
  ]);
});
