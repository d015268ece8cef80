import { exit, nodeContext } from './node/context.ts';
import { VERSION } from './version.ts';

const { argv, context } = nodeContext();

/** The most asked question of all needs no command line parser. */
async function main(): Promise<number> {
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    await context.stdout.write(`${VERSION}\n`);
    return 0;
  }
  const { runCli } = await import('./cli.ts');
  return runCli(argv, context);
}

exit(await main());
