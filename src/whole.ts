/** All of the program behind the shortest answers: one file of the build, so that Node has one file to load. */
export { runCli } from './cli/run.ts';
export { nodeContext } from './node/context.ts';
