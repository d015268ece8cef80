/** Entry point: answers --version, completion and help at once, and loads everything else only to run a command. */
import { argv, env, exit, isTerminal, pageOrPrint, printAndEnd, width } from './node/process.ts';
import type { PlaceOptions } from './session/globals.ts';
import type { Tree } from './cli/help/tree.ts';
import type { KnownPet } from './state/pets.ts';
import { VERSION } from './version.ts';

/** Names the kind of this run once it is known; bin/start.js keys its code cache by it. */
export let commandName = 'version';
export const finished = start();

async function start(): Promise<void> {
  // Fast paths: version, completion and help need neither commander nor, mostly, a context.
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    printAndEnd(`${VERSION}\n`);
    return;
  }
  if (argv[0] === '__complete') {
    commandName = 'complete';
    const [{ complete }, tree] = await Promise.all([import('./cli/completion/complete.ts'), loadTree()]);
    printAndEnd(await complete(tree, argv.slice(1), petsHere));
    return;
  }
  const asksForAll = argv.includes('help') || argv.includes('--help');
  if (asksForAll || argv.includes('-h') || argv.length === 0) {
    const [{ helpFor, withHeadings }, tree, { createStyle }] = await Promise.all([
      import('./cli/help/render.ts'),
      loadTree(),
      import('./view/style.ts'),
    ]);
    const text = helpFor(tree, argv, width());
    if (text !== undefined) {
      commandName = 'help';
      const choice = argv.includes('--no-color') ? 'never' : 'auto';
      const style = await createStyle({ choice, env, isTTY: isTerminal() });
      (asksForAll && !argv.includes('--no-pager') ? pageOrPrint : printAndEnd)(withHeadings(text, style));
      return;
    }
  }
  const [{ run }, { LOADERS: loaders }, { nodeContext }] = await Promise.all([
    import('./cli/run.ts'),
    import('./commands/index.ts'),
    import('./node/context.ts'),
  ]);
  const context = nodeContext();
  const code = await run({ loaders, tree: loadTree }, argv, context, (name) => {
    commandName = name;
  });
  // Thread-pool work whose result has just arrived counts as done only after this turn.
  await context.clock.turn();
  exit(code);
}

async function loadTree(): Promise<Tree> {
  return (await import('./commands/command-tree.ts')).buildTree();
}

async function petsHere(place: PlaceOptions): Promise<readonly KnownPet[]> {
  commandName = 'complete.pets';
  const [{ knownPets }, { nodeContext }] = await Promise.all([
    import('./commands/completion.ts'),
    import('./node/context.ts'),
  ]);
  const pets = await knownPets(nodeContext(), place).catch(() => []);
  // Reading names loads more code than reading ids: a cache of its own.
  if (pets.some(({ name }) => name !== undefined)) commandName = 'complete.names';
  return pets;
}
