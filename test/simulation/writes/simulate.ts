/** Runs one simulation of writes: commands of one machine in sequence, with everything that may happen in between. */
import { setTimeout as wait } from 'node:timers/promises';
import { mulberry32 } from '../../support/test-ports.ts';
import { SimulatedTime } from '../time.ts';
import { MemoryDisk } from './disk.ts';
import { HOME, type World, WritingProcess, type Fate } from './process.ts';
import { brokenPromises, type Violation } from './promises.ts';
import { argsOf, drawFate, drawOperation, drawScenario, type Operation, type Scenario } from './scenario.ts';
import { WrittenService } from './service.ts';

/** A row of `inventory history -o json`. */
export interface Row {
  readonly change: number;
  readonly when: string;
  readonly petId: number;
  readonly before: number | null;
  readonly after: number;
  readonly outcome: string;
  readonly reason: string | null;
  readonly run: number | null;
}

/** What a process did, and what it said about it. */
export interface Report {
  readonly process: number;
  readonly operation: Operation;
  readonly args: readonly string[];
  readonly startedAt: number;
  readonly endedAt: number;
  /** Undefined: it was killed. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly error: { readonly kind: string; readonly message: string; readonly outcome?: string } | undefined;
  /** When a signal or the deadline came. */
  readonly stoppedAt: number | undefined;
  readonly answered: readonly number[];
  /** The history as it was then. */
  readonly rows: readonly Row[];
}

export interface Result {
  readonly scenario: Scenario;
  readonly reports: readonly Report[];
  readonly service: WrittenService;
  readonly disk: MemoryDisk;
  readonly violations: readonly Violation[];
}

/** A seed that has not come to its end by then hangs. */
const END_MS = 24 * 3_600_000;
/** A command that a script runs again because its exit code says so. */
const MOST_TRIES = 3;
const MOST_RESUMES = 5;
/** In which modules are loaded. */
const REAL_TURNS = 5_000;

export async function simulateWrites(seed: number): Promise<Result> {
  const random = mulberry32(seed);
  return simulate(drawScenario(random), random);
}

/** Loads what commands load on demand: that takes time of the real world, in which the simulated one would go on. */
export async function warmUp(): Promise<void> {
  const calm = {
    fault: 0,
    slow: 0,
    foreign: 0,
    refused: 0,
    trouble: 0,
    kill: 0,
    signal: 0,
    deadline: 0,
    delivery: 0.1,
  };
  await simulate({ pets: 3, commands: 40, together: 0, terminal: 0.5, ...calm }, mulberry32(1), REAL_TURNS);
}

async function simulate(scenario: Scenario, random: () => number, turns = 0): Promise<Result> {
  const time = new SimulatedTime();
  const service = new WrittenService(time, random, scenario);
  const disk = new MemoryDisk(() => time.now);
  const machine = new WritingMachine({ time, service, disk, random, alive: new Set() }, scenario);
  service.onAnswer = () => {
    if (random() < scenario.trouble) disk.trouble(random() < 0.7 ? 'held' : 'full', 200 * 40 ** random());
  };
  const end = { isThere: false };
  const isOver = (): boolean => end.isThere;
  const work = machine.work().finally(() => {
    end.isThere = true;
  });
  for (let turn = 0; !isOver() && turn <= turns; turn++) {
    await time.run(isOver, END_MS);
    if (!isOver()) await wait(turns > 0 ? 2 : 0);
  }
  const { reports } = machine;
  if (isOver()) await work;
  const hanging = machine.running.map((args): Violation => ({ rule: 'end', text: `it never ended: ${args}` }));
  const violations = [...hanging, ...brokenPromises({ reports, service, disk })];
  disk.close();
  return { scenario, reports, service, disk, violations };
}

class WritingMachine {
  readonly reports: Report[] = [];
  /** What has not come to its end. */
  readonly running: string[] = [];
  readonly #world: World;
  readonly #scenario: Scenario;
  #started = 0;

  constructor(world: World, scenario: Scenario) {
    this.#world = world;
    this.#scenario = scenario;
  }

  async work(): Promise<void> {
    const { random, time, service } = this.#world;
    for (let i = 0; i < this.#scenario.commands; i++) {
      await (random() < this.#scenario.together
        ? Promise.all([this.#obey(2 * i), this.#obey(2 * i + 1)])
        : this.#obey(2 * i));
      await time.sleep(10_000 ** random());
    }
    // What is left is done while nothing goes wrong any more.
    service.isCalm = true;
    await time.sleep(60_000);
    for (let i = 0; ; i++) {
      const [unfinished] = await this.#unfinished();
      if (unfinished === undefined) return;
      if (i === MOST_RESUMES) {
        this.running.push(`a run is unfinished after ${i} times of runs resume`);
        return;
      }
      const { code } = await this.#obeyCalmly({ kind: 'resume' });
      // The delivery's file has grown since the run began.
      if (code === 2) await this.#obeyCalmly({ kind: 'discard', number: BigInt(unfinished.run) });
    }
  }

  #obeyCalmly(operation: Operation): Promise<Report> {
    return this.#run(operation, argsOf(operation), { refused: 0 });
  }

  /** Runs a command, and as a script would, again where that is said to be safe. */
  async #obey(serial: number): Promise<void> {
    const { random, disk, service, time } = this.#world;
    const operation = drawOperation(this.#scenario, random, serial, (pet) => service.quantity(pet));
    if (operation.file !== undefined) disk.write(`${HOME}/${operation.file}`, operation.typed ?? '');
    for (let tries = 1; ; tries++) {
      const fate = drawFate(this.#scenario, random);
      const deadlineMs = random() < this.#scenario.deadline ? Math.ceil(10 * 4_000 ** random()) : undefined;
      const deadline = deadlineMs === undefined ? [] : ['--deadline', `${deadlineMs}ms`];
      const next: Operation = tries > 1 && operation.file !== undefined ? { kind: 'resume' } : operation;
      const { code } = await this.#run(next, [...argsOf(next), ...deadline], fate, deadlineMs);
      const isRepeated =
        operation.kind === 'adjust' ? code === 7 || code === 6 : operation.file !== undefined && code !== 0;
      if (!isRepeated || tries === MOST_TRIES) return;
      await time.sleep(1_000);
    }
  }

  async #run(operation: Operation, given: readonly string[], fate: Fate, deadlineMs?: number): Promise<Report> {
    const isAsked = fate.answersAfterMs !== undefined;
    const args = [...given, ...(isAsked ? [] : ['--yes']), '-o', 'json'];
    const process = new WritingProcess(this.#world, ++this.#started, fate, operation.typed);
    this.running.push(args.join(' '));
    const code = await process.run(args);
    this.running.splice(this.running.indexOf(args.join(' ')), 1);
    const { stdout, stderr } = process.output;
    const endedAt = this.#world.time.now;
    const late =
      deadlineMs !== undefined && process.startedAt + deadlineMs <= endedAt ? [process.startedAt + deadlineMs] : [];
    const stops = [...late, ...(process.stoppedAt === undefined ? [] : [process.stoppedAt])];
    const report: Report = {
      process: process.number,
      operation,
      args,
      startedAt: process.startedAt,
      endedAt,
      code,
      stdout,
      stderr,
      error: errorIn(stderr),
      stoppedAt: stops.length === 0 ? undefined : Math.min(...stops),
      answered: process.answered,
      rows: await this.#history(),
    };
    this.reports.push(report);
    return report;
  }

  async #history(): Promise<readonly Row[]> {
    return this.#ask<Row>(['inventory', 'history', '--all-environments', '--limit', '1000']);
  }

  async #unfinished(): Promise<{ readonly run: number }[]> {
    const runs = await this.#ask<{ run: number; kind: string; left: number }>([
      'inventory',
      'runs',
      '--unfinished',
      '--all-environments',
    ]);
    // A smoke test is not resumed: undo, or the next one, puts its pet back. Nor is a stocktake that is still counting.
    return runs.filter(({ kind, left }) => kind !== 'smoke' && left > 0);
  }

  /** Runs a command that only reads what this machine knows. */
  async #ask<T>(args: readonly string[]): Promise<readonly T[]> {
    const process = new WritingProcess(this.#world, ++this.#started, { refused: 0 });
    const code = await process.run([...args, '-o', 'json']);
    if (code !== 0) throw new Error(`${args.join(' ')}: exit ${code}, ${process.output.stderr}`);
    return JSON.parse(process.output.stdout) as T[];
  }
}

/** On a terminal, the line may follow what clears the one before it. */
export function errorIn(stderr: string): Report['error'] {
  const [line] = /\{"error":.*$/m.exec(stderr) ?? [];
  return line === undefined ? undefined : (JSON.parse(line) as { error: NonNullable<Report['error']> }).error;
}
