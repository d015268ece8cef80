import { runCli } from './cli.ts';
import { exit, nodeContext } from './node/context.ts';

const { argv, context } = nodeContext();
exit(await runCli(argv, context));
