/** The program as a process: what its user, a script or cron would see. */
import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { onCleanup } from './cleanup.ts';
import { createHome, type Home } from './home.ts';
import { holdToSchemas } from './schemas.ts';

/** A process that still runs after so many ms is killed, and its test fails. */
const KILL_AFTER = 25_000;

export interface PetstoreOptions {
  /** Default: a new one. */
  readonly home?: Home;
  /** Added to the clean environment; undefined removes. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Text for stdin, which is then closed; default: an empty pipe. `open`: a pipe left open. `null`: /dev/null. */
  readonly stdin?: string | null | { readonly open: true };
  /** A file to write to in place of a pipe, `/dev/full` for instance. */
  readonly stdout?: { readonly file: string };
  readonly stderr?: { readonly file: string };
  /** Sends the signal once stdout or stderr has matched. */
  readonly signalAfter?: { readonly match: RegExp; readonly signal: NodeJS.Signals };
  /** Another program and its first arguments in place of petstore. */
  readonly command?: readonly [string, ...string[]];
  /** For work that takes long; default KILL_AFTER. */
  readonly killAfterMs?: number;
}

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly pid: number;
  /** So far. */
  readonly stdout: string;
  readonly stderr: string;
  write(text: string): void;
  endInput(): void;
  /** Resolves once the output so far matches; rejects if the process ends without. */
  waitFor(match: RegExp, stream?: 'stdout' | 'stderr'): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** Hangs up on its stdout, as `head` does: what it writes from then on meets EPIPE. */
  closeStdout(): void;
  /** Stops reading its stdout, as a slow reader does, until `resumeStdout`. */
  pauseStdout(): void;
  resumeStdout(): void;
  readonly exited: Promise<Finished>;
}

/** What to run: PETSTORE_BIN, or the working copy's program on the Node of PETSTORE_NODE, or on that of the tests. */
export function petstoreCommand(): readonly [string, ...string[]] {
  const installed = process.env.PETSTORE_BIN;
  if (installed !== undefined && installed !== '') return [installed];
  return [
    process.env.PETSTORE_NODE ?? process.execPath,
    fileURLToPath(new URL('../../bin/petstore.js', import.meta.url)),
  ];
}

/** Nothing of the machine's environment but PATH: no key, no proxy, no colour setting. */
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
  const files = openFiles(options);
  const child = spawn(file, [...first, ...args], {
    cwd: options.cwd ?? process.cwd(),
    env: cleanEnvironment(options.home ?? createHome(), options.env),
    stdio: files.stdio,
  });
  files.close();
  // The process may be gone before it has read its input.
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
  const { signalAfter } = options;
  if (signalAfter !== undefined) {
    void heard.waitFor(signalAfter.match).then(
      () => child.kill(signalAfter.signal),
      () => undefined,
    );
  }
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
    closeStdout: () => void child.stdout?.destroy(),
    pauseStdout: () => void child.stdout?.pause(),
    resumeStdout: () => void child.stdout?.resume(),
    exited,
  };
}

/** Collects the output of a process, and how it ended. */
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
    // A test that waits only for output must not get an unhandled rejection as well.
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

function openFiles({ stdin, stdout, stderr }: PetstoreOptions): { stdio: StdioOptions; close(): void } {
  const opened: number[] = [];
  const target = (given: { readonly file: string } | undefined): 'pipe' | number => {
    if (given === undefined) return 'pipe';
    const descriptor = openSync(given.file, 'w');
    opened.push(descriptor);
    return descriptor;
  };
  return {
    stdio: [stdin === null ? 'ignore' : 'pipe', target(stdout), target(stderr)],
    close() {
      for (const descriptor of opened) closeSync(descriptor);
    },
  };
}
