/** Asks which columns of a file have the missing data, and remembers the answers for files with the same header. */
import type { CommandContext } from '../session/globals.ts';
import { canAsk, questionWith } from '../session/resolve.ts';
import { visible } from '../view/words.ts';
import { type ColumnName, findColumns, findName, type Mapping, parseMapping, shown, STOCK_FILE } from './columns.ts';
import { openJournal, withWritableJournal } from './open-journal.ts';

/**
 * Returns the meaning of a header's columns: `mappings`, then remembered answers or, at a terminal, new ones.
 * @param add true if the file's numbers are added to the stock
 */
export async function nameColumns(
  context: CommandContext,
  headings: readonly string[],
  mappings: readonly Mapping[],
  add: boolean,
): Promise<readonly Mapping[]> {
  const { globals, notices, prompt, signal } = context;
  const header = JSON.stringify(headings);
  const asks = canAsk(context) && !globals.yes;
  const remembered = (await readAnswers(context, header)).filter((each) =>
    mappings.every(({ heading, column }) => heading !== each.heading && column !== each.column),
  );
  if (remembered.length > 0) {
    const as = remembered.map(({ heading, column }) => `${shown(heading)} is ${column}`).join(', ');
    if (!asks) notices.info(`As remembered for files with this header: ${as}.`);
    if (!asks || (await prompt.confirm(`Read the file as before (${visible(as)})?`, signal, true))) {
      return [...mappings, ...remembered];
    }
  }
  if (!asks) return mappings;
  const asked = await askColumns(context, headings, mappings, add);
  if (asked.length === 0) return mappings;
  const answers = [...mappings, ...asked];
  if (await prompt.confirm('Remember this for files with the same header?', signal, true)) {
    await storeAnswers(context, header, answers);
  }
  return answers;
}

/** Asks for each missing column. Returns nothing if the file has too few columns. */
async function askColumns(
  ...[context, headings, mappings, add]: Parameters<typeof nameColumns>
): Promise<readonly Mapping[]> {
  const { found } = findColumns(headings, mappings);
  const taken = [...found.values()];
  const free = [...headings.entries()].filter(([at]) => !taken.includes(at));
  const lacksPet = !STOCK_FILE.pets.some((column) => found.has(column));
  const lacksNumber = !STOCK_FILE.needs.some((column) => found.has(column));
  if (new Set(free.map(([, name]) => name)).size < Number(lacksPet) + Number(lacksNumber)) return [];
  const answers: Mapping[] = [];
  const ask = async (what: string, columns: readonly ColumnName[], meaning: string): Promise<void> => {
    const left = free.filter(([, name]) => answers.every(({ heading }) => heading !== name));
    const heading = await choose(context, `Which column has ${what}?`, left);
    const [only, ...others] = columns;
    const question = `What is in ${shown(heading)}? (${meaning})`;
    const column = others.length === 0 ? only! : await choose(context, question, [...columns.entries()]);
    answers.push({ heading, column });
  };
  if (lacksPet) await ask('the pet', STOCK_FILE.pets, 'the name or barcode of the catalog, or the id');
  if (lacksNumber) {
    // With --add, both add. The next file with this header does, too, where the option is forgotten.
    await ask('the number', add ? ['delta'] : STOCK_FILE.needs, 'quantity is set, delta is added');
  }
  return answers;
}

/** Answers that the question suggests, and the columns that they mean. */
const MEANINGS: Readonly<Record<string, ColumnName>> = { add: 'delta', set: 'quantity' };

/** Asks until the answer is one of the names, or its number. `at` counts from 0. */
async function choose<Name extends string>(
  context: CommandContext,
  question: string,
  choices: readonly (readonly [at: number, name: Name])[],
): Promise<Name> {
  const { notices, prompt, signal } = context;
  const lines = choices.map(([at, name]) => `  ${at + 1}  ${name}`);
  for (const line of lines) notices.info(line);
  const names = choices.map(([, name]) => name);
  const find = (answer: string): Name | undefined =>
    findName(names, answer) ??
    findName(names, MEANINGS[answer.toLowerCase()] ?? '') ??
    choices.find(([at]) => `${at + 1}` === answer)?.[1];
  const problemOf = (answer: string): string | undefined =>
    find(answer) === undefined ? 'Type a number or a name from the list.' : undefined;
  return find(await prompt.text(questionWith(context, lines, visible(question)), undefined, signal, problemOf))!;
}

async function readAnswers(context: CommandContext, header: string): Promise<readonly Mapping[]> {
  using journal = await openJournal(context);
  const row = journal.state.database.get('SELECT mappings FROM columnAnswer WHERE header = ?', header);
  const values = row === undefined ? [] : (JSON.parse(String(row.mappings)) as readonly string[]);
  return values.flatMap((value) => parseMapping(value) ?? []);
}

async function storeAnswers(context: CommandContext, header: string, mappings: readonly Mapping[]): Promise<void> {
  const values = JSON.stringify(mappings.map(({ heading, column }) => `${heading}=${column}`));
  await withWritableJournal(context, ({ state }) =>
    state.exclusively(() => {
      state.database.run('INSERT OR REPLACE INTO columnAnswer (header, mappings) VALUES (?, ?)', header, values);
    }),
  );
}
