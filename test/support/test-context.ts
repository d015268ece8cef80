/**
 * A Context for tests: in-memory streams, virtual time, seeded random numbers, scripted answers, and the real
 * files, config, database and HTTP in a separate home folder.
 */
import {
  type Context,
  type Database,
  type Http,
  type HttpRequest,
  type Machine,
  type Network,
  RedisFailure,
  type SignalName,
} from '../../src/ports.ts';
import { Failure } from '../../src/errors.ts';
import { nodeFiles } from '../../src/node/files.ts';
import { onCleanup } from './cleanup.ts';
import { createHome, type Home } from './home.ts';
import { MemoryInput, MemoryOutput, type OutputOptions } from './memory-streams.ts';
import {
  type Answer,
  type AskedQuestion,
  type Handler,
  holdDuring,
  holdExchanges,
  mulberry32,
  scriptedPrompt,
  noting,
  withoutSockets,
} from './test-ports.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface TestContextOptions {
  /** Makes all three streams a terminal of 80 columns, unless their own options differ. */
  readonly terminal?: boolean;
  readonly stdin?: { readonly text?: string; readonly isTTY?: boolean };
  readonly stdout?: OutputOptions;
  readonly stderr?: OutputOptions;
  /** Added to HOME and the XDG variables; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly home?: Home;
  /** Default: one that advances by itself. */
  readonly clock?: VirtualClock;
  /** Answers to prompts, in order. One too few or too many fails the test. */
  readonly answers?: readonly Answer[];
  readonly machine?: Partial<Machine>;
  /** For probes of names and certificates. */
  readonly network?: Network;
  /** Returns the output of the key command. */
  readonly keyCommand?: (words: readonly string[]) => string;
  /** Changes the file like an editor. */
  readonly editor?: (path: string) => void;
  /** Answers requests instead of the network. */
  readonly http?: Handler;
}

export interface TestContext extends Context {
  readonly stdout: MemoryOutput;
  readonly stderr: MemoryOutput;
  readonly clock: VirtualClock;
  readonly home: Home;
  /** Prints warnings as lines on stderr. */
  readonly notices: { warning(text: string): void };
  readonly questions: readonly AskedQuestion[];
  /** Every request that the Http port was permitted to send, in order. */
  readonly sent: readonly HttpRequest[];
  /** Simulates the signal. */
  interrupt(signal?: SignalName): void;
}

export function createTestContext(options: TestContextOptions = {}): TestContext {
  const home = options.home ?? createHome();
  const clock = options.clock ?? new VirtualClock({ autoAdvance: true });
  const env = { ...home.env, ...options.env };
  const { terminal = false } = options;
  const screen = { isTTY: terminal, ...(terminal && { columns: 80 }) };
  const interrupts = new AbortController();
  const { prompt, questions } = scriptedPrompt(options.answers ?? []);
  const sent: HttpRequest[] = [];
  const stderr = new MemoryOutput({ ...screen, ...options.stderr });
  return {
    env,
    stdin: new MemoryInput({ isTTY: terminal, ...options.stdin }),
    stdout: new MemoryOutput({ ...screen, ...options.stdout }),
    stderr,
    clock,
    random: mulberry32(1),
    randomBytes: (count) => new Uint8Array(count).fill(7),
    files: holdDuring(clock, nodeFiles),
    prompt,
    machine: {
      platform: 'linux',
      userId: process.geteuid?.(),
      runtime: { name: 'Node', version: process.versions.node },
      pid: 4_242,
      home: home.path,
      isAlive: () => true,
      user: 'clerk',
      cwd: home.path,
      bootId: 'this-boot',
      processSpace: 'this-machine',
      ...options.machine,
    },
    signal: interrupts.signal,
    onHangUp: () => undefined,
    uncaught: new Promise<never>(() => undefined),
    openHttp: async () => {
      if (options.http !== undefined) return noting(sent, withoutSockets(options.http));
      const real = await clock.during(() => realHttp(env));
      return noting(sent, holdExchanges(clock, real));
    },
    openNetwork: () =>
      options.network === undefined
        ? Promise.reject(new Error('no network was scripted'))
        : Promise.resolve(options.network),
    openEditor: (path) => {
      options.editor?.(path);
      return Promise.resolve();
    },
    openScreen: () => Promise.reject(new Error('tests have no screen')),
    runCommand: (words) => Promise.resolve(options.keyCommand?.(words) ?? ''),
    openDatabase: (path, how) => clock.during(() => openDatabase(path, how)),
    openRedis: () => Promise.reject(new RedisFailure(new Error('tests have no Redis'))),
    home,
    notices: {
      warning: (text) => {
        void stderr.write(`warning: ${text}\n`);
      },
    },
    questions,
    sent,
    interrupt: (signal = 'SIGINT') => {
      interrupts.abort(new Failure('interrupted', { signal }));
    },
  };
}

/** Loads the program's own HTTP client on demand; closes it with the test. */
async function realHttp(env: Context['env']): Promise<Http> {
  const { openHttp } = await import('../../src/node/http.ts');
  const http = openHttp(env);
  onCleanup(() => http.close());
  return http;
}

async function openDatabase(...how: Parameters<Context['openDatabase']>): Promise<Database> {
  const { openDatabase: open } = await import('../../src/node/sqlite.ts');
  return open(...how);
}
