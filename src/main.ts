import { argv, exit, printAndEnd, width } from './node/process.ts';
import { VERSION } from './version.ts';

// What is asked most needs neither a command line parser nor a context.
const text =
  argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')
    ? `${VERSION}\n`
    : argv.length === 0 || argv.includes('-h') || argv.includes('--help')
      ? await (await import('./help/answer.ts')).helpFor(argv, width())
      : undefined;

if (text !== undefined) printAndEnd(text);
else {
  const { nodeContext, runCli } = await import('./whole.ts');
  exit(await runCli(argv, nodeContext()));
}
