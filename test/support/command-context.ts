/** Creates the context of a command without a command line: silent, JSON output, no prompts. */
import { nodeContext } from '../../src/node/context.ts';
import type { Context } from '../../src/ports.ts';
import type { CommandContext } from '../../src/session/globals.ts';

const nothing = (): void => undefined;
const unused = (): Promise<never> => Promise.reject(new Error('the target is known'));

/** @param warning receives the warnings; without it they are dropped */
export function commandContext(
  ports: Context = nodeContext(),
  warning: CommandContext['notices']['warning'] = nothing,
): CommandContext {
  return {
    ...ports,
    argv: [],
    openWrites: new Set(),
    globals: {
      output: 'json',
      color: 'never',
      input: false,
      yes: true,
      quiet: true,
      verbose: false,
      debug: false,
      showLimits: false,
      insecureHttp: false,
      timeout: 30_000,
      maxWait: 75_000,
      retryFor: 0,
      reserve: 0,
      maxBody: 1 << 20,
      keepHistory: Number.POSITIVE_INFINITY,
    },
    notices: {
      info: nothing,
      progress: nothing,
      isLive: false,
      waiting: nothing,
      watchLimits: nothing,
      writes: nothing,
      attempt: nothing,
      recovered: () => undefined,
      debug: nothing,
      warning,
    },
    secrets: { add: nothing, redact: (text) => text },
    configFile: unused,
    settings: unused,
    target: unused,
  };
}
