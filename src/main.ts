import { argv, exit, nextTurn, printAndEnd, width } from './node/process.ts';
import { VERSION } from './version.ts';

declare const __COMMANDS__: readonly string[];

/** Of all commands, for whoever keeps what each of them has compiled. */
export const commandNames = __COMMANDS__;
export const finished = start();

/** What is asked most needs neither a command line parser nor a context. */
async function start(): Promise<void> {
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    printAndEnd(`${VERSION}\n`);
    return;
  }
  if (argv.length === 0 || argv.includes('-h') || argv.includes('--help')) {
    const { helpFor } = await import('./cli/help/answer.ts');
    const text = await helpFor(argv, width());
    if (text !== undefined) {
      printAndEnd(text);
      return;
    }
  }
  const { nodeContext, runCli } = await import('./whole.ts');
  const code = await runCli(argv, nodeContext());
  // Work of a thread whose result was heard just now counts as done only then.
  await nextTurn();
  exit(code);
}
