/**
 * Checks the promises about writes against the service's own log: what was overwritten, what each process reported of
 * its writes, and what the history contains.
 */
import { START } from '../../support/virtual-clock.ts';
import type { MemoryDisk, Trouble } from './disk.ts';
import { isDeliveredOnce, type Operation } from './scenario.ts';
import type { Reading, Version, Write, WrittenService } from './service.ts';
import type { Report, Row } from './simulate.ts';

/** `end`: a command hangs, or finds a bug in itself. The others are the five promises below. */
export type Rule = 'overwritten' | 'applied' | 'not-sent' | 'history' | 'added' | 'end';

export interface Violation {
  readonly rule: Rule;
  readonly text: string;
}

export interface Evidence {
  readonly reports: readonly Report[];
  readonly service: Pick<WrittenService, 'writes' | 'readings' | 'versions'>;
  readonly disk: Pick<MemoryDisk, 'troubles'>;
}

export function brokenPromises(evidence: Evidence): Violation[] {
  const found: Violation[] = [];
  const check = new Checks(evidence, (rule, text) => found.push({ rule, text }));
  for (const report of evidence.reports) {
    check.overwritten(report);
    if (report.code !== undefined) check.reported(report);
    check.recorded(report);
    if (report.code === 1) found.push({ rule: 'end', text: `${report.args.join(' ')}: ${report.stderr}` });
  }
  check.added();
  return found;
}

/** The commands that send whatever the pet has. */
const isBlind = ({ operation: { kind }, args }: Report): boolean =>
  kind === 'api' || (kind === 'set' && args.includes('--yes'));

/** What became of the newest copy of a write, as far as its process could know. */
type Known =
  | 'applied' // it was answered
  | 'refused' // 4xx
  | 'seen' // the answer was lost, and the stock read afterwards has it
  | 'not-seen' // the stock still has the earlier quantity
  | 'replaced' // the stock has another one: it may have been applied before
  | 'unknown'; // the stock was not read any more

class Checks {
  readonly #reports: readonly Report[];
  readonly #service: Evidence['service'];
  readonly #disk: Evidence['disk'];
  readonly #tell: (rule: Rule, text: string) => void;

  constructor({ reports, service, disk }: Evidence, tell: (rule: Rule, text: string) => void) {
    this.#reports = reports;
    this.#service = service;
    this.#disk = disk;
    this.#tell = tell;
  }

  /** Promise 1: a write meets the quantity that its row says, or one that came after the last look. */
  overwritten(report: Report): void {
    if (isBlind(report)) return;
    for (const write of this.#writesOf(report)) {
      if (write.found === undefined || !write.isApplied) continue;
      const met = this.#versions(write.pet)[write.found]!;
      const rows = this.#rowsOf(report, write).filter((row) => this.#isMeant(report, row));
      // What it has written itself, whatever a broken answer said of it.
      const isOwn = met.by !== 'foreign' && met.by.process === write.process;
      const isFine =
        isOwn || met.quantity === write.quantity || rows.some((row) => this.#mayReplace(report, write, row));
      if (isFine || this.#rowsOf(report, write).length === 0) continue;
      const because =
        rows.length === 0 ? 'no row of the history is what was asked for' : `it had read ${rows[0]!.before}`;
      this.#tell(
        'overwritten',
        `${this.#name(report)}: pet ${write.pet}, ${met.quantity} became ${write.quantity}, ${because}`,
      );
    }
  }

  /** Promises 2 and 3: what was answered is said to be applied, and what was not is not said to be unsent. */
  reported(report: Report): void {
    for (const write of this.#newestWrites(report)) {
      const known = this.#known(report, write);
      if (known === 'applied') this.#reportedApplied(report, write);
      if (known === 'unknown' || known === 'replaced') this.#reportedUnknown(report, write);
      const isDenied = isSingle(report) && (saysNothing(report) || report.code === 7);
      if (known === 'seen' && isDenied) {
        this.#tell(
          'not-sent',
          `${this.#name(report)}: pet ${write.pet} was set to ${write.quantity}, and the list showed it`,
        );
      }
      const isThere = known === 'applied' || known === 'seen';
      const isSaid = isSingle(report) && saysApplied(report);
      if (!isThere && isSaid)
        this.#tell('applied', `${this.#name(report)}: pet ${write.pet}, ${write.quantity} is ${known}`);
    }
  }

  /** Promise 4: each write that was applied has a row, and each row that is applied was. */
  recorded(report: Report): void {
    for (const write of this.#writesOf(report)) {
      if (!write.isApplied) continue;
      const rows = this.#rowsOf(report, write);
      const what = `${this.#name(report)}: pet ${write.pet} was set to ${write.quantity}`;
      // On a full disk a single write is sent all the same, with a warning.
      const wasFull = this.#wasTroubled('full', report.startedAt, write.sentAt);
      if (rows.length === 0 && !wasFull) this.#tell('history', `${what}, and no row says so`);
      if (rows.length > 0 && rows.every(({ outcome }) => outcome === 'failed')) {
        this.#tell('not-sent', `${what}, and the history says failed`);
      }
    }
    for (const { petId, after, outcome, change } of report.rows) {
      if (outcome !== 'applied') continue;
      const isTrue = this.#service.writes.some(
        ({ pet, quantity, isApplied }) => isApplied && pet === BigInt(petId) && quantity === BigInt(after),
      );
      if (!isTrue) this.#tell('history', `${this.#name(report)}: change ${change} is "applied", and never was`);
    }
  }

  /** Promise 5: what is to be added is added once. */
  added(): void {
    const rows = this.#reports.at(-1)?.rows ?? [];
    const operations = new Set(this.#reports.map(({ operation }) => operation));
    for (const operation of operations) {
      for (const [pet, delta] of operation.deltas ?? []) {
        this.#addedOnce(
          operation,
          pet,
          rows.filter((row) => BigInt(row.petId) === pet && addsBy(row, delta)),
        );
      }
    }
    this.#deliveredOnce(rows);
  }

  /** Of the delivery whose file grows, no row is added again, except one that was undone. */
  #deliveredOnce(rows: readonly Row[]): void {
    for (const pet of this.#service.versions.keys()) {
      const sum = this.#service.writes
        .filter((write) => write.pet === pet && this.#adds(write, rows))
        .map((write) => this.#differenceOf(write, rows))
        .filter((difference) => isDeliveredOnce(difference) || isDeliveredOnce(-difference))
        .reduce((a, b) => a + b, 0n);
      if (!isDeliveredOnce(sum)) this.#tell('added', `pet ${pet}: the rows of the delivery are ${sum} in all`);
    }
  }

  /** What a write was to add, by its row: of some that set the pet to the same, the one that expected what it met. */
  #differenceOf({ pet, quantity, found, sentAt }: Write, rows: readonly Row[]): bigint {
    const noted = rows.filter((row) => isRowOf(row, pet, quantity) && notedAt(row) <= sentAt);
    const met = this.#versions(pet)[found!]!.quantity;
    const row = noted.find(({ before }) => before !== null && BigInt(before) === met) ?? noted[0];
    return row === undefined ? 0n : differenceOf(row);
  }

  #addedOnce(operation: Operation, pet: bigint, rows: readonly Row[]): void {
    const own = this.#reports.filter((report) => report.operation === operation);
    const from = own[0]!.startedAt;
    // An undo that is undone adds once more, and rightly so.
    const undone = this.#reports.find(
      ({ operation: { kind }, endedAt }) => kind !== 'redo' && isReversal(kind) && endedAt >= from,
    );
    const until = undone?.startedAt ?? Number.POSITIVE_INFINITY;
    const processes = this.#reports.filter((report) => own.includes(report) || report.operation.kind === 'resume');
    const times = processes
      .flatMap((report) => this.#writesOf(report))
      .filter(
        (write) => write.pet === pet && write.sentAt >= from && write.sentAt < until && this.#adds(write, rows),
      ).length;
    const isAdjust = operation.kind === 'adjust';
    const isSure = isAdjust ? own.every(isCertain) : rows.every(({ outcome }) => outcome === 'applied');
    const wanted = isAdjust ? Number(own.some(saysApplied)) : rows.length;
    if (times > 1 || (undone === undefined && isSure && times !== wanted)) {
      this.#tell('added', `${this.#name(own[0]!)}: pet ${pet} was added to ${times} times, not ${wanted}`);
    }
  }

  /** Whether the write is that of a row, and changed the stock: a second copy of the same one does not. */
  #adds({ pet, quantity, found, isApplied }: Write, rows: readonly Row[]): boolean {
    if (!isApplied || found === undefined) return false;
    return this.#versions(pet)[found]!.quantity !== quantity && rows.some(({ after }) => BigInt(after) === quantity);
  }

  #mayReplace(report: Report, write: Write, { before }: Row): boolean {
    if (before === null) return false;
    const versions = this.#versions(write.pet);
    if (versions[write.found!]!.quantity === BigInt(before)) return true;
    // The race that remains: someone else wrote after the stock was read, and before the write arrived.
    const read = this.#lastReading(report, write);
    if (read === undefined || versions[read.version]!.quantity !== BigInt(before)) return false;
    const since = versions.slice(read.version + 1, write.found! + 1);
    return since.every((version) => this.#isForeign(version));
  }

  /** The last that was read of the pet before the write, if that is a reason to send it. */
  #lastReading(report: Report, write: Write): Reading | undefined {
    const copies = this.#writesOf(report).filter((each) => isCopy(each, write) && each.sentAt < write.sentAt);
    const questions = report.answered.filter((at) => at <= write.sentAt);
    const since = Math.max(Number.NEGATIVE_INFINITY, ...questions, ...copies.map(({ sentAt }) => sentAt));
    return this.#service.readings
      .filter(({ process, pet, shownAt }) => process === report.process && pet === write.pet && shownAt <= write.sentAt)
      .filter(({ producedAt, version }) => producedAt >= since && version <= write.found!)
      .toSorted((a, b) => a.producedAt - b.producedAt)
      .at(-1);
  }

  /** Another client's write, or one that was under way when its process died: nobody here could know of it. */
  #isForeign({ by, at }: Version): boolean {
    if (by === 'foreign') return true;
    return (this.#reports.find(({ process }) => process === by.process)?.endedAt ?? at) < at;
  }

  #reportedApplied(report: Report, write: Write): void {
    const { endedAt } = report;
    const what = `${this.#name(report)}: pet ${write.pet} was set to ${write.quantity}, and answered`;
    const { stoppedAt = Number.POSITIVE_INFINITY } = report;
    const wasStopped = write.sentAt < stoppedAt && stoppedAt < write.answer!.at;
    if (isSingle(report)) {
      if (!saysApplied(report)) this.#tell('applied', what);
    } else if (wasStopped && saysNothing(report)) this.#tell('applied', what);
    const wasHeld = this.#wasTroubled(undefined, write.answer!.at, endedAt);
    const rows = this.#rowsOf(report, write);
    if (rows.length > 0 && !wasHeld && rows.every(({ outcome }) => outcome !== 'applied')) {
      this.#tell('applied', `${what}; the history says ${rows[0]!.outcome}`);
    }
  }

  #reportedUnknown(report: Report, write: Write): void {
    const { code, error, operation, startedAt } = report;
    const what = `${this.#name(report)}: pet ${write.pet}, ${write.quantity} was sent, and not answered`;
    // Only a single write has an exit code of its own; what a run says of each row is in the history.
    const isUnknown = code === 9 || error?.outcome === 'unknown';
    const outcomes = this.#rowsOf(report, write).map(({ outcome }) => outcome);
    // A conflict is reported; the code may be that of what stopped the run after it.
    const isForgotten = code === 0 || code === 7 || error?.kind === 'interrupted' || saysNothing(report);
    const isMissed = isSingle(report) || (isForgotten && !outcomes.includes('conflict'));
    if (operation.kind !== 'smoke' && !isUnknown && isMissed) this.#tell('not-sent', what);
    const wasFull = this.#wasTroubled('full', startedAt, write.sentAt);
    if (outcomes.every((outcome) => outcome === 'failed') && (outcomes.length > 0 || !wasFull)) {
      this.#tell('not-sent', `${what}; the history says ${outcomes[0] ?? 'nothing'}`);
    }
  }

  #wasTroubled(problem: Trouble['problem'] | undefined, from: number, until: number): boolean {
    return this.#disk.troubles.some(
      (each) => (problem ?? each.problem) === each.problem && each.from <= until && each.until >= from,
    );
  }

  #known(report: Report, write: Write): Known {
    const { answer } = write;
    if (answer?.isSound === true) return 'applied';
    if (answer !== undefined && answer.status >= 400 && answer.status < 500) return 'refused';
    const looks = this.#service.readings.filter(
      (each) =>
        each.isList && each.process === report.process && each.pet === write.pet && each.producedAt >= write.decidedAt,
    );
    const shown = looks.map(({ version }) => this.#versions(write.pet)[version]!.quantity);
    const [first] = shown;
    if (first === undefined) return 'unknown';
    if (shown.includes(write.quantity)) return 'seen';
    // A command that knew nothing of the pet can only compare it with what it wants.
    return isBlind(report) || first === this.#readBefore(report, write) ? 'not-seen' : 'replaced';
  }

  /** The quantity that the process had read of the pet when it sent the write. */
  #readBefore(report: Report, write: Write): bigint | undefined {
    const before = this.#service.readings.findLast(
      (each) => each.process === report.process && each.pet === write.pet && each.shownAt <= write.sentAt,
    );
    return before === undefined ? undefined : this.#versions(write.pet)[before.version]!.quantity;
  }

  #newestWrites(report: Report): Write[] {
    const all = this.#writesOf(report);
    return all.filter((write, i) => !all.slice(i + 1).some((later) => isCopy(later, write)));
  }

  #writesOf({ process }: Report): Write[] {
    return this.#service.writes.filter((write) => write.process === process);
  }

  /** The rows that may be of this write: noted while its process ran, and before it was sent. */
  #rowsOf({ startedAt, rows }: Report, { pet, quantity, sentAt }: Write): Row[] {
    return rows.filter((row) => {
      const at = notedAt(row);
      return isRowOf(row, pet, quantity) && at >= Math.floor(startedAt) && at <= sentAt;
    });
  }

  /** Whether the row is what its command was asked for. */
  #isMeant({ operation, rows }: Report, { petId, before, after, change }: Row): boolean {
    if (before === null) return false;
    const pet = BigInt(petId);
    const { kind, expected, deltas, quantities } = operation;
    if (expected !== undefined) return BigInt(before) === expected;
    if (deltas !== undefined) return deltas.get(pet) === BigInt(after - before);
    if (quantities !== undefined) return quantities.get(pet) === BigInt(after);
    if (!isReversal(kind)) return true;
    return rows.some(
      (row) => row.change < change && row.petId === petId && row.before === after && row.after === before,
    );
  }

  #versions(pet: bigint): readonly Version[] {
    return this.#service.versions.get(pet)!;
  }

  #name({ process, args, code, error }: Report): string {
    const { outcome = 'no outcome', message = '' } = error ?? {};
    const said = error === undefined ? '' : ` (${outcome}: ${message})`;
    return `process ${process}, ${args.slice(0, -2).join(' ')}, exit ${code ?? 'killed'}${said}`;
  }
}

const isCopy = (a: Write, b: Write): boolean => a.pet === b.pet && a.quantity === b.quantity;

function isReversal(kind: Operation['kind']): boolean {
  return kind === 'redo' || kind.startsWith('undo');
}

/** A command that sends one write, so that its exit code is about that. */
function isSingle({ operation: { kind } }: Pick<Report, 'operation'>): boolean {
  return (['set', 'set --expect', 'set --read-first', 'adjust', 'api'] as const satisfies Operation['kind'][]).some(
    (each) => each === kind,
  );
}

function isCertain({ code, error }: Report): boolean {
  return code !== undefined && code !== 9 && error?.outcome !== 'unknown';
}

function saysApplied({ code, error }: Report): boolean {
  return code === 0 || error?.outcome === 'applied';
}

function isRowOf({ petId, after }: Row, pet: bigint, quantity: bigint): boolean {
  return BigInt(petId) === pet && BigInt(after) === quantity;
}

const notedAt = ({ when }: Row): number => Date.parse(when) - START;

const differenceOf = ({ before, after }: Row): bigint => BigInt(after) - BigInt(before ?? after);

function addsBy(row: Row, delta: bigint): boolean {
  return row.before !== null && differenceOf(row) === delta;
}

function saysNothing({ stderr }: Report): boolean {
  return /nothing (was|is) (being )?sent/i.test(stderr);
}
