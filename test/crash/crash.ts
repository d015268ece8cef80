/**
 * Kills real imports and undos with SIGKILL at any step and resumes them until they are done, while another client sets
 * the same pets. Checks that everything is done in the end, once, and that no unread quantity was overwritten.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { brokenPromises } from '../simulation/writes/promises.ts';
import type { Operation } from '../simulation/writes/scenario.ts';
import { errorIn, type Report, type Row } from '../simulation/writes/simulate.ts';
import { type Finished, startPetstore } from '../support/binary.ts';
import { createHome, type Home } from '../support/home.ts';
import { staging } from '../support/staging.ts';
import { mulberry32 } from '../support/test-ports.ts';
import { diesAt, now, Shop } from './shop.ts';

export interface Crashes {
  readonly kills: number;
  readonly imports: number;
  readonly undos: number;
  /** Pets that were not changed because the other client had set them. */
  readonly conflicts: number;
  /** Pets that were not changed, although nobody else had set them. */
  readonly lost: number;
  /** Rows that were sent again after their answer was in the history, or added twice. */
  readonly repeated: number;
  /** Quantities of the other client that petstore had not read, and overwrote. */
  readonly overwritten: number;
  /** What broke a promise, in words. */
  readonly broken: readonly string[];
}

const PETS = 22;
/** A whole import has hardly more steps of transactions and connections. */
const MOST_STEPS = 600;
/** How often the other client sets a pet, in the mean. */
const FOREIGN_MS = 120;
/** More than the changes of an import and its undo. */
const HISTORY = 4 * PETS;

export async function crash(kills: number, seed: number, column: 'quantity' | 'delta' = 'quantity'): Promise<Crashes> {
  const machine = new CrashingMachine(mulberry32(seed), kills);
  await machine.open();
  while (machine.totals.kills < kills) {
    await machine.untilDone(machine.importOf(column));
    machine.totals.imports++;
    if (machine.random() < 0.7) continue;
    await machine.untilDone({ kind: 'undo' });
    machine.totals.undos++;
  }
  return { ...machine.totals, broken: machine.broken };
}

class CrashingMachine {
  readonly totals = { kills: 0, imports: 0, undos: 0, conflicts: 0, lost: 0, repeated: 0, overwritten: 0 };
  readonly broken: string[] = [];
  readonly random: () => number;
  readonly #kills: number;
  readonly #home: Home = createHome();
  readonly #shop = new Shop(PETS);
  readonly #reports: Report[] = [];
  #importedAt = 0;

  constructor(random: () => number, kills: number) {
    this.random = random;
    this.#kills = kills;
  }

  async open(): Promise<void> {
    await this.#shop.open();
  }

  importOf(column: 'quantity' | 'delta'): Operation {
    // Each import has amounts of its own: the history tells by them which rows are of which import.
    const least = 1_000 * this.totals.imports;
    const amounts = Array.from({ length: PETS }, (_, i) => {
      return [BigInt(i + 1), BigInt(least + 1 + Math.floor(this.random() * 1_000))] as const;
    });
    const file = join(this.#home.path, `stock-${this.totals.imports}.csv`);
    writeFileSync(file, [`petId,${column}`, ...amounts.map((row) => row.join(','))].join('\n'));
    return column === 'delta'
      ? { kind: 'import --add', file, deltas: new Map(amounts) }
      : { kind: 'import', file, quantities: new Map(amounts) };
  }

  /** Runs a command, and resumes its run until that is finished. */
  async untilDone(operation: Operation): Promise<void> {
    const first = operation.kind === 'undo' ? ['undo'] : ['import', operation.file ?? ''];
    // What an undo is to take back was written from then on.
    const since = operation.kind === 'undo' ? this.#importedAt : (this.#importedAt = now());
    const rowsBefore = this.#reports.at(-1)?.rows ?? [];
    const { length: before } = await this.#shop.runs(this.#home);
    let acknowledged = new Set<bigint>();
    for (;;) {
      const [newest, ...older] = await this.#shop.runs(this.#home);
      const run = older.length >= before ? newest : undefined;
      if (run !== undefined && run.state !== 'unfinished') {
        this.#count(wantedOf(operation, rowsBefore), run.run, since);
        break;
      }
      const { process, code, rows } = await this.#run(operation, run === undefined ? first : ['runs', 'resume']);
      const sent = this.#shop.writes.filter((write) => write.process === process);
      this.totals.repeated += sent.filter(({ pet }) => acknowledged.has(pet)).length;
      const done = rows.filter((row) => row.outcome === 'applied' && row.run === run?.run);
      acknowledged = new Set(done.map(({ petId }) => BigInt(petId)));
      // There was nothing to do.
      if (code !== undefined && (await this.#shop.runs(this.#home)).length === before) break;
    }
    this.#judge(this.#reports.filter((report) => report.operation === operation));
  }

  /** Holds what the command and its resumptions did against the log. */
  #judge(reports: readonly Report[]): void {
    for (const { rule, text } of brokenPromises({ reports, service: this.#shop, disk: { troubles: [] } })) {
      if (rule === 'overwritten') this.totals.overwritten++;
      else if (rule === 'added') this.totals.repeated++;
      this.broken.push(text);
    }
  }

  /** Counts the pets that a finished run has not changed. That is right where another client has set them meanwhile. */
  #count(wanted: readonly bigint[], run: number, since: number): void {
    const rows = this.#reports.at(-1)!.rows.filter((row) => row.run === run && row.outcome === 'applied');
    const isDone = new Set(rows.map(({ petId }) => BigInt(petId)));
    for (const pet of wanted.filter((each) => !isDone.has(each))) {
      const isForeign = this.#shop.versions.get(pet)!.some(({ by, at }) => by === 'foreign' && at >= since);
      this.totals[isForeign ? 'conflicts' : 'lost']++;
    }
  }

  /** Runs a command that is killed, unless there were enough kills or it ends before. */
  async #run(operation: Operation, words: readonly string[]): Promise<Report> {
    const number = ++this.#shop.process;
    const args = ['inventory', ...words, '--yes', '--quiet', '-o', 'json'];
    const isKilled = this.totals.kills < this.#kills;
    const startedAt = now();
    const running = startPetstore(args, {
      home: this.#home,
      env: { ...staging(this.#shop.baseUrl), ...(isKilled && diesAt(this.random() * MOST_STEPS)) },
    });
    const meanwhile = new AbortController();
    void this.#interfere(meanwhile.signal);
    const finished = await running.exited;
    await this.#shop.idle();
    meanwhile.abort();
    if (finished.signal === 'SIGKILL') this.totals.kills++;
    const report = reportOf({ number, operation, args, startedAt }, finished, await this.#history());
    this.#reports.push(report);
    return report;
  }

  async #interfere(signal: AbortSignal): Promise<void> {
    for (;;) {
      await wait(-Math.log(1 - this.random()) * FOREIGN_MS);
      if (signal.aborted) return;
      this.#shop.setAsForeign(BigInt(1 + Math.floor(this.random() * PETS)));
    }
  }

  #history(): Promise<readonly Row[]> {
    return this.#shop.ask<Row>(this.#home, ['history', '--limit', `${HISTORY}`]);
  }
}

/** The pets that a command is to change. An undo takes back the newest run. */
function wantedOf({ deltas, quantities }: Operation, rows: readonly Row[]): readonly bigint[] {
  if (deltas !== undefined || quantities !== undefined) return [...(deltas ?? quantities ?? [])].map(([pet]) => pet);
  const newest = Math.max(...rows.map(({ run }) => run ?? 0));
  return rows.filter(({ run, outcome }) => run === newest && outcome === 'applied').map(({ petId }) => BigInt(petId));
}

function reportOf(
  { number, ...given }: Pick<Report, 'operation' | 'args' | 'startedAt'> & { readonly number: number },
  { code, stdout, stderr }: Finished,
  rows: readonly Row[],
): Report {
  return {
    process: number,
    ...given,
    endedAt: now(),
    code: code ?? undefined,
    stdout,
    stderr,
    error: errorIn(stderr),
    stoppedAt: undefined,
    answered: [],
    rows,
  };
}
