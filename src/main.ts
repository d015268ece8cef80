import { argv, exit, printAndEnd } from './node/process.ts';
import { VERSION } from './version.ts';

// The most asked question of all needs neither a command line parser nor a context.
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
  printAndEnd(`${VERSION}\n`);
} else {
  const [{ nodeContext }, { runCli }] = await Promise.all([import('./node/context.ts'), import('./cli.ts')]);
  exit(await runCli(argv, nodeContext()));
}
