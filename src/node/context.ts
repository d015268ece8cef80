/** Creates the real context of the program: the ports over this process. */
import { readFileSync, readlinkSync } from 'node:fs';
import { type Context, errorCode } from '../ports.ts';
import { EXIT, Failure, fileFailure } from '../errors.ts';
import { BUN } from './bun.ts';
import { nodeClock } from './clock.ts';
import { nodeFiles } from './files.ts';
import { closedStdout, exit, SIGNALS } from './process.ts';
import { nodeInput, nodeOutput } from './streams.ts';

/** Cached at first use: each change names it, and a directory service may have to be asked. */
let user: string | undefined;

export function nodeContext(): Context {
  muteWarnings();
  // With a mask that withholds our own rights, petstore could not open its files again.
  process.umask(process.umask(0o077) & 0o077);
  const signal = firstSignal();
  const boot = bootId();
  return {
    env: process.env,
    stdin: nodeInput(() => process.stdin),
    stdout: nodeOutput(1, closedStdout()),
    stderr: nodeOutput(2),
    clock: nodeClock,
    random: Math.random,
    // Loaded by the few commands that need it.
    randomBytes: (count) => process.getBuiltinModule('node:crypto').randomBytes(count),
    files: nodeFiles,
    prompt: {
      hidden: async (...asked) => (await import('./prompt.ts')).nodePrompt.hidden(...asked),
      text: async (...asked) => (await import('./prompt.ts')).nodePrompt.text(...asked),
      confirm: async (...asked) => (await import('./prompt.ts')).nodePrompt.confirm(...asked),
    },
    machine: {
      platform: process.platform,
      // Bun also reports the version of Node that it imitates.
      runtime: BUN === undefined ? { name: 'Node', version: process.versions.node } : { name: 'Bun', version: BUN },
      pid: process.pid,
      home: homeFolder(),
      isAlive,
      userId: process.geteuid?.(),
      bootId: boot,
      processSpace: `${boot.slice(0, 8)}.${namespace('pid')}`,
      get cwd() {
        try {
          return process.cwd();
        } catch (error) {
          throw fileFailure('find', 'the current folder', error);
        }
      },
      get user() {
        try {
          return (user ??= process.getBuiltinModule('node:os').userInfo().username);
        } catch {
          // The number of a user without a name, as a container may have.
          return (user ??= String(process.geteuid?.() ?? ''));
        }
      },
    },
    signal,
    onHangUp: (listen) => void hangUps.push(listen),
    uncaught: uncaughtError(),
    openHttp: async () => (await import('./http.ts')).openHttp(process.env),
    openNetwork: async (limits) => (await import('./network.ts')).openNetwork(process.env, limits),
    openEditor: async (path, until) => (await import('./user-programs.ts')).openEditor(process.env, path, until),
    openScreen: async (events) => (await import('./full-screen.ts')).openScreen(events),
    runCommand: async (words, options) => (await import('./user-programs.ts')).runCommand(process.env, words, options),
    openDatabase: async (path, how) => (await import('./sqlite.ts')).openDatabase(path, how),
    openRedis: async (url) => (await import('./redis.ts')).openRedis(url),
  };
}

/** Warnings of Node that do not apply: petstore is tested with its SQLite, and verifies each certificate. */
const MUTED = /SQLite is an experimental feature|NODE_TLS_REJECT_UNAUTHORIZED/;

function muteWarnings(): void {
  const emit = process.emitWarning;
  process.emitWarning = (...all: [warning: string | Error, ...rest: unknown[]]) => {
    if (!MUTED.test(String(all[0]))) Reflect.apply(emit, process, all);
  };
}

/** Returns HOME if it is absolute: a relative one would depend on the current folder. On Windows, the user profile. */
function homeFolder(): string | undefined {
  if (process.platform === 'win32') return process.getBuiltinModule('node:os').homedir();
  return process.env.HOME?.startsWith('/') === true ? process.env.HOME : undefined;
}

/** When a process was last seen not to be a zombie, by pid. A busy ledger asks often, and reading takes longer. */
const livedAt = new Map<number, number>();
const LIVES_MS = 10_000;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const now = performance.now();
    if (now - (livedAt.get(pid) ?? -LIVES_MS) < LIVES_MS) return true;
    // One that has ended stays a zombie until its parent asks how (proc(5)).
    if (/^State:\s*[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return false;
    livedAt.set(pid, now);
    return true;
  } catch (error) {
    // EPERM: it exists but belongs to another user. Others: /proc is hidden, or of another system.
    return errorCode(error) !== 'ESRCH';
  }
}

/**
 * Returns Linux's boot id, plus the time namespace if it is not the machine's own, because its monotonic clock differs.
 * Empty on other systems: there the monotonic clock itself shows a reboot, and setting the wall clock does not matter.
 */
function bootId(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const time = namespace('time');
    return time === '' || time === FIRST_TIME_NAMESPACE ? boot : `${boot}.${time}`;
  } catch {
    return '';
  }
}

/** PROC_TIME_INIT_INO of the Linux kernel. */
const FIRST_TIME_NAMESPACE = '4026531834';

/** Returns the number of a namespace of this process (namespaces(7)); empty if the system shows none. */
function namespace(kind: 'pid' | 'time'): string {
  try {
    return readlinkSync(`/proc/self/ns/${kind}`).replace(/\D/g, '');
  } catch {
    return '';
  }
}

const hangUps: (() => void)[] = [];

/**
 * How soon after the first signal another one is a copy of it, in ms: systemd and timeout(1) end a group of processes,
 * and bin/petstore.js on an older Node passes on what it receives.
 */
const COPY_MS = 100;

/** How long a command may take to say what became of its write after a second signal, in ms. */
const LAST_WORDS_MS = 1_000;

/** Aborts at the first signal, so that the work can end in order. A second one ends the command at once. */
function firstSignal(): AbortSignal {
  const controller = new AbortController();
  let firstAt = 0;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (signal === 'SIGHUP' && hangUps.length > 0) {
        for (const listen of hangUps) listen();
        return;
      }
      const failure = new Failure('interrupted', { signal });
      if (!controller.signal.aborted) {
        firstAt = nodeClock.monotonic();
        controller.abort(failure);
      } else if (nodeClock.monotonic() - firstAt >= COPY_MS) {
        process.emit('uncaughtException', failure);
        setTimeout(exit, LAST_WORDS_MS, EXIT[signal]);
      }
    });
  }
  return controller.signal;
}

function uncaughtError(): Promise<never> {
  const uncaught = new Promise<never>((_resolve, reject) => {
    // This includes unhandled rejections.
    process.on('uncaughtException', reject);
  });
  // Consumers handle it; without this it would itself be an unhandled rejection.
  uncaught.catch(() => undefined);
  return uncaught;
}
