/**
 * One process of a simulation of writes: a whole command on simulated ports. It may be killed at any step of its
 * requests and transactions: then its ports never answer again, and its locks are released.
 */
import { run } from '../../../src/cli/run.ts';
import { LOADERS } from '../../../src/commands/index.ts';
import { buildTree } from '../../../src/commands/command-tree.ts';
import { Failure } from '../../../src/errors.ts';
import { type Clock, type Context, type Files, type Http, HttpFailure, type SignalName } from '../../../src/ports.ts';
import { MemoryInput, MemoryOutput } from '../../support/memory-streams.ts';
import { START } from '../../support/virtual-clock.ts';
import type { SimulatedTime } from '../time.ts';
import type { Connection, MemoryDisk, Owner } from './disk.ts';
import type { Client, WrittenService } from './service.ts';

/** At a step of its requests and transactions; or, with a chance at each arrival and answer, soon after. */
export type Moment = { readonly step: number } | { readonly chance: number };

/** An answer may take 20 s, and a Retry-After as long. */
const SOON_MS = 20_000;
const NEVER: Moment = { step: -1 };

/** What becomes of a process beside its work. */
export interface Fate {
  readonly kill?: Moment;
  readonly stop?: Moment & { readonly signal: SignalName };
  /** Someone is at a terminal, and takes so long to answer a question, ms. */
  readonly answersAfterMs?: number;
  readonly answersNo?: boolean;
  /** Chance that a connection cannot be made. */
  readonly refused: number;
}

export interface World {
  readonly time: SimulatedTime;
  readonly service: WrittenService;
  readonly disk: MemoryDisk;
  readonly random: () => number;
  readonly alive: Set<number>;
}

export const HOME = '/home/clerk';
const ENV = {
  HOME,
  PETSTORE_ENV: 'staging',
  PETSTORE_BASE_URL: 'https://pets.example/v1',
  PETSTORE_API_KEY: 'the-key-of-the-store',
  EDITOR: 'ed',
};

export class WritingProcess implements Client, Owner {
  readonly number: number;
  readonly startedAt: number;
  /** When a question was answered. */
  readonly answered: number[] = [];
  /** When it was first told to stop. */
  stoppedAt: number | undefined;
  steps = 0;
  readonly #world: World;
  readonly #fate: Fate;
  readonly #typed: string;
  readonly #stdout: MemoryOutput;
  readonly #stderr: MemoryOutput;
  readonly #stop = new AbortController();
  readonly #connections: Connection[] = [];
  readonly #death = Promise.withResolvers<undefined>();
  #isAlive = true;

  /** @param typed on stdin, or in the editor */
  constructor(world: World, number: number, fate: Fate, typed = '') {
    this.#world = world;
    this.#typed = typed;
    this.number = number;
    this.#fate = fate;
    this.startedAt = world.time.now;
    const screen = fate.answersAfterMs === undefined ? {} : { isTTY: true, columns: 80 };
    this.#stdout = new MemoryOutput(screen);
    this.#stderr = new MemoryOutput(screen);
    world.alive.add(number);
  }

  /** Resolves with the exit code; undefined: it was killed. */
  async run(args: readonly string[]): Promise<number | undefined> {
    const ran = run({ loaders: LOADERS, tree: buildTree }, args, this.#context());
    const code = await Promise.race([ran, this.#death.promise]);
    this.#end();
    return code;
  }

  get output(): { readonly stdout: string; readonly stderr: string } {
    return { stdout: this.#stdout.text(), stderr: this.#stderr.text() };
  }

  isAlive(): boolean {
    return this.#isAlive;
  }

  step(): void {
    if (!this.survives()) throw new Error('this process is dead');
  }

  survives(): boolean {
    if (!this.#isAlive) return false;
    this.steps++;
    const { kill = NEVER, stop = NEVER } = this.#fate;
    // A signal is heard between two turns of the event loop.
    if ('step' in stop && stop.step === this.steps) this.#world.time.after(0, () => this.interrupt());
    if ('step' in kill && kill.step === this.steps) this.kill();
    return this.#isAlive;
  }

  happened(): void {
    const { kill = NEVER, stop = NEVER } = this.#fate;
    const { time, random, service } = this.#world;
    if (!this.survives() || service.isCalm) return;
    if ('chance' in kill && random() < kill.chance) time.after(SOON_MS ** random() - 1, () => this.kill());
    if ('chance' in stop && random() < stop.chance) time.after(SOON_MS ** random() - 1, () => this.interrupt());
  }

  kill(): void {
    if (!this.#isAlive) return;
    this.#end();
    this.#death.resolve(undefined);
  }

  interrupt(): void {
    if (!this.#isAlive) return;
    this.stoppedAt ??= this.#world.time.now;
    this.#stop.abort(new Failure('interrupted', { signal: this.#fate.stop?.signal ?? 'SIGTERM' }));
  }

  #end(): void {
    this.#isAlive = false;
    this.#world.alive.delete(this.number);
    for (const each of this.#connections) each.close();
  }

  #context(): Context {
    const { disk, random, alive } = this.#world;
    const none = (): Promise<never> => Promise.reject(new Error('this world has none'));
    const stdin = new MemoryInput({ isTTY: this.#fate.answersAfterMs !== undefined, text: this.#typed });
    const lines = stdin.lines();
    return {
      env: ENV,
      // What was read once is not there a second time.
      stdin: Object.assign(stdin, { lines: () => lines }),
      stdout: this.#stdout,
      stderr: this.#stderr,
      clock: this.#clock(),
      random,
      randomBytes: (count) => new Uint8Array(count).fill(7),
      files: this.#mortal(disk.files()),
      prompt: { hidden: none, text: none, confirm: (question, signal) => this.#answer(question, signal) },
      machine: {
        platform: 'linux',
        userId: process.geteuid?.(),
        runtime: { name: 'Node', version: process.versions.node },
        pid: this.number,
        home: HOME,
        isAlive: (pid) => alive.has(pid),
        user: 'clerk',
        cwd: HOME,
        bootId: 'this-boot',
        processSpace: 'this-machine',
      },
      signal: this.#stop.signal,
      onHangUp: () => undefined,
      uncaught: never(),
      openHttp: async () => this.#http(),
      openNetwork: none,
      openEditor: async (path, signal) => {
        await this.#sleep(this.#fate.answersAfterMs ?? 0, signal);
        disk.write(path, this.#typed);
      },
      openScreen: none,
      runCommand: none,
      openDatabase: async (path) => {
        if (!this.#isAlive) return never();
        const connection = disk.open(path, this);
        this.#connections.push(connection);
        return connection;
      },
      openRedis: none,
    };
  }

  #clock(): Clock {
    const { time } = this.#world;
    return {
      now: () => Math.floor(START + time.now),
      monotonic: () => 1_000_000 + time.now,
      sleep: (ms, signal) => this.#sleep(ms, signal),
      turn: () => (this.#isAlive ? Promise.resolve() : never()),
      alarm: (ms, ring) => {
        let isSet = true;
        time.after(Math.max(0, ms), () => {
          if (!isSet || !this.#isAlive) return;
          // The only alarm that a command sets before it does anything is its deadline.
          ring();
        });
        return () => {
          isSet = false;
        };
      },
    };
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.#isAlive) return;
      if (signal?.aborted === true) return reject(signal.reason as Error);
      if (!(ms > 0)) return resolve();
      const abort = (): void => {
        if (this.#isAlive) reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.#world.time.after(ms, () => {
        signal?.removeEventListener('abort', abort);
        if (this.#isAlive) resolve();
      });
    });
  }

  async #answer(question: string, signal: AbortSignal): Promise<boolean> {
    await this.#sleep(this.#fate.answersAfterMs ?? 0, signal);
    this.answered.push(this.#world.time.now);
    return this.#fate.answersNo !== true && !question.includes('a second time');
  }

  #http(): Http {
    const { service, random } = this.#world;
    return {
      connect: async ({ url }) => {
        await this.#sleep(5);
        if (!this.survives()) return never();
        if (!service.isCalm && random() < this.#fate.refused) throw refused(url);
        return {
          isOpen: true,
          release: () => undefined,
          send: async (request, maySend) => {
            if (!this.#isAlive) return never();
            if (!maySend()) throw HttpFailure.withdrawn(url.host);
            return service.send(request, this);
          },
        };
      },
      close: async () => undefined,
    };
  }

  /** A port whose methods never answer once the process is dead. */
  #mortal(files: Files): Files {
    const wrapped = Object.entries(files).map(([name, method]: [string, (...args: unknown[]) => unknown]) => [
      name,
      (...args: unknown[]) => (this.#isAlive ? method(...args) : never()),
    ]);
    return Object.fromEntries(wrapped) as Files;
  }
}

/** A new promise each time: a shared one would keep all who wait for it in memory. */
const never = (): Promise<never> => new Promise(() => undefined);

function refused({ host }: URL): HttpFailure {
  return new HttpFailure({ phase: 'connect', mayHaveBeenSent: false, peer: host, code: 'ECONNREFUSED', detail: 'no' });
}
