/** Runs the program as a process, as a user, a script or cron would. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { onCleanup } from './cleanup.ts';
import { createHome, type Home } from './home.ts';
import { holdToSchemas } from './schemas.ts';

/** After this many ms a process is killed, and its test fails. */
const KILL_AFTER = 100_000;
/** For a server that lasts as long as what uses it: the longest time that Node can set. */
export const NEVER_MS = 2 ** 31 - 1;

export interface PetstoreOptions {
  /** Default: a new one. */
  readonly home?: Home;
  /** Added to the clean environment; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Text for stdin, which is then closed; default: an empty pipe. `open`: a pipe left open. `null`: /dev/null. */
  readonly stdin?: string | null | { readonly open: true };
  /** A file to write to instead of a pipe, such as `/dev/full`. */
  readonly stdout?: { readonly file: string };
  /** Another program and its first arguments, instead of petstore. */
  readonly command?: readonly [string, ...string[]];
  /** For long work; default KILL_AFTER. */
  readonly killAfterMs?: number;
}

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Returns what a finished run is with this exit code, and with this in its stderr: for toMatchObject. */
export function exits(code: number, says: string | RegExp) {
  const stderr: unknown = typeof says === 'string' ? expect.stringContaining(says) : expect.stringMatching(says);
  return { code, stderr };
}

export interface Running {
  readonly pid: number;
  /** Until now. */
  readonly stdout: string;
  readonly stderr: string;
  write(text: string): void;
  endInput(): void;
  /** Resolves once the output matches; rejects if the process ends before that. */
  waitFor(match: RegExp, stream?: 'stdout' | 'stderr'): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** Sends the signal, and resolves once the process has ended. */
  end(signal: NodeJS.Signals): Promise<Finished>;
  /** Closes its stdout, as `head` does: further writes fail with EPIPE. */
  closeStdout(): void;
  /** Stops reading its stdout, as a slow reader does, until `resumeStdout`. */
  pauseStdout(): void;
  resumeStdout(): void;
  readonly exited: Promise<Finished>;
}

/** Returns PETSTORE_BIN, or the working copy's program with the Node in PETSTORE_NODE or that of the tests. */
export function petstoreCommand(): readonly [string, ...string[]] {
  const installed = process.env.PETSTORE_BIN;
  if (installed !== undefined && installed !== '') return [installed];
  return [
    process.env.PETSTORE_NODE ?? process.execPath,
    fileURLToPath(new URL('../../bin/petstore.js', import.meta.url)),
  ];
}

/** Returns the command of a script that runs petstore as "$@". */
export function inBash(script: string): readonly [string, ...string[]] {
  return ['/bin/bash', '-c', script, 'bash', ...petstoreCommand()];
}

/** Returns petstore's command without root's right to read and write everything. */
export function asMortal(): readonly [string, ...string[]] {
  if (process.getuid?.() !== 0) return petstoreCommand();
  return ['setpriv', '--bounding-set', '-dac_override,-dac_read_search', ...petstoreCommand()];
}

/** True where a test may mount disks of its own: for root, on Linux. */
export function mayMount(): boolean {
  return spawnSync('unshare', ['-m', 'true']).status === 0;
}

/** Returns the command of a script that runs petstore as "$@", and whose mounts only it sees. */
export function withMounts(script: string): readonly [string, ...string[]] {
  return ['unshare', '-m', '/bin/sh', '-c', script, 'sh', ...petstoreCommand()];
}

/** Keeps only PATH of the machine's environment: no key, no proxy, no colour setting. */
export function cleanEnvironment(home: Home, added: PetstoreOptions['env'] = {}): Record<string, string> {
  const compiled = process.env.PETSTORE_TEST_CACHE ?? home.cache;
  const all = { PATH: process.env.PATH, ...home.env, XDG_CACHE_HOME: compiled, TZ: 'UTC', LANG: 'C.UTF-8', ...added };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

export async function runPetstore(args: readonly string[], options: PetstoreOptions = {}): Promise<Finished> {
  return startPetstore(args, options).exited;
}

export function startPetstore(args: readonly string[], options: PetstoreOptions = {}): Running {
  const [file, ...first] = options.command ?? petstoreCommand();
  const stdout = options.stdout === undefined ? 'pipe' : openSync(options.stdout.file, 'w');
  const child = spawn(file, [...first, ...args], {
    cwd: options.cwd ?? process.cwd(),
    env: cleanEnvironment(options.home ?? createHome(), options.env),
    stdio: [options.stdin === null ? 'ignore' : 'pipe', stdout, 'pipe'],
  });
  if (stdout !== 'pipe') closeSync(stdout);
  // The process may end before it has read its input.
  child.stdin?.on('error', () => undefined);
  if (options.stdin === null || typeof options.stdin !== 'object') child.stdin?.end(options.stdin ?? '');

  const heard = new Heard(args.join(' '), child, options.killAfterMs ?? KILL_AFTER);
  onCleanup(async () => {
    child.kill('SIGKILL');
    await heard.exited.catch(() => undefined);
  });
  const exited = heard.exited.then((finished) => {
    if (options.command === undefined) holdToSchemas(args, finished, options.cwd);
    return finished;
  });
  exited.catch(() => undefined);
  return {
    pid: child.pid ?? -1,
    get stdout() {
      return heard.text.stdout;
    },
    get stderr() {
      return heard.text.stderr;
    },
    write: (input) => void child.stdin?.write(input),
    endInput: () => void child.stdin?.end(),
    waitFor: (match, stream) => heard.waitFor(match, stream),
    kill: (signal) => void child.kill(signal),
    end(signal) {
      child.kill(signal);
      return exited;
    },
    closeStdout: () => void child.stdout?.destroy(),
    pauseStdout: () => void child.stdout?.pause(),
    resumeStdout: () => void child.stdout?.resume(),
    exited,
  };
}

/** Collects the output and the exit of a process. */
class Heard {
  readonly text = { stdout: '', stderr: '' };
  readonly exited: Promise<Finished>;
  readonly #name: string;
  readonly #watchers = new Set<() => void>();

  constructor(name: string, child: ChildProcess, killAfterMs: number) {
    this.#name = name;
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream]?.setEncoding('utf8').on('data', (piece: string) => {
        this.text[stream] += piece;
        for (const watcher of this.#watchers) watcher();
      });
    }
    this.exited = new Promise((resolve, reject) => {
      const overdue = setTimeout(() => {
        child.kill('SIGKILL');
        reject(this.#error(`still ran after ${killAfterMs} ms and was killed`));
      }, killAfterMs);
      child.on('error', (error) => {
        clearTimeout(overdue);
        reject(error);
      });
      child.on('close', (code, signal) => {
        clearTimeout(overdue);
        resolve({ code, signal, ...this.text });
      });
    });
    // A test that waits only for output must not also get an unhandled rejection.
    this.exited.catch(() => undefined);
  }

  waitFor(match: RegExp, stream?: 'stdout' | 'stderr'): Promise<void> {
    const matches = (): boolean =>
      stream === undefined
        ? match.test(this.text.stdout) || match.test(this.text.stderr)
        : match.test(this.text[stream]);
    return new Promise((resolve, reject) => {
      const watcher = (): void => {
        if (!matches()) return;
        this.#watchers.delete(watcher);
        resolve();
      };
      this.#watchers.add(watcher);
      watcher();
      this.exited.then(() => {
        reject(this.#error(`ended without ${match}`));
      }, reject);
    });
  }

  #error(what: string): Error {
    const { stdout, stderr } = this.text;
    return new Error(`"${this.#name}" ${what}.\nstdout: ${stdout.slice(-2_000)}\nstderr: ${stderr.slice(-2_000)}`);
  }
}
