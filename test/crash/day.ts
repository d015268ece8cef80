/**
 * Runs a clerk's day (docs/import-and-count.md), kills its commands with SIGKILL at any step, and continues as a clerk
 * would, from petstore's messages. Checks that each change happens once, with its cause and its person.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startPetstore } from '../support/binary.ts';
import { createHome, type Home } from '../support/home.ts';
import { staging } from '../support/staging.ts';
import { mulberry32 } from '../support/test-ports.ts';
import { diesAt, Shop } from './shop.ts';

export interface Day {
  readonly kills: number;
  readonly changes: number;
  /** What was lost, done twice, or has a wrong cause or person, in words. */
  readonly broken: readonly string[];
}

const PETS = 15;
/** Hardly any of the commands has more steps of transactions and connections. */
const MOST_STEPS = 260;
/** In the variable; some commands name another one. */
const CLERK = 'Kim';
/** More than one step of the day changes, with its repetitions. */
const NEWEST = 40;

interface Change {
  readonly pet: number;
  readonly by: number;
  readonly cause?: string;
  readonly who?: string;
}

interface Step {
  readonly does: 'import' | 'adjust' | 'reverse' | 'count';
  readonly args: readonly string[];
  readonly changes: readonly Change[];
}

interface HistoryRow {
  readonly change: number;
  readonly petId: number;
  readonly before: number;
  readonly after: number;
  readonly outcome: string;
  readonly cause: string | null;
  readonly who: string;
}

export async function crashDays(kills: number, seed: number): Promise<Day> {
  const shop = new Shop(PETS);
  await shop.open();
  const clerk = new Clerk(shop, mulberry32(seed), kills);
  for (let day = 1; clerk.kills < kills; day++) await clerk.work(day);
  return { kills: clerk.kills, changes: shop.writes.length, broken: clerk.broken };
}

class Clerk {
  kills = 0;
  readonly broken: string[] = [];
  readonly #shop: Shop;
  readonly #random: () => number;
  readonly #mostKills: number;
  readonly #home: Home = createHome();

  constructor(shop: Shop, random: () => number, mostKills: number) {
    this.#shop = shop;
    this.#random = random;
    this.#mostKills = mostKills;
  }

  async work(day: number): Promise<void> {
    const file = join(this.#home.path, `delivery-${day}.csv`);
    writeFileSync(file, `petId,delta,cause\n7,${100 + day},received\n2,${200 + day},returned\n`);
    const adjust = (pet: number, by: number, cause: string, who?: string): Step => ({
      does: 'adjust',
      args: ['adjust', `${pet}`, `${by}`, '--cause', cause, ...(who === undefined ? [] : ['--person', who])],
      changes: [{ pet, by, cause, ...(who !== undefined && { who }) }],
    });
    const steps: readonly Step[] = [
      {
        does: 'import',
        args: ['import', file, '--resume', '--person', 'Ben'],
        changes: [
          { pet: 7, by: 100 + day, cause: 'received', who: 'Ben' },
          { pet: 2, by: 200 + day, cause: 'returned', who: 'Ben' },
        ],
      },
      adjust(7, -2, 'sold'),
      adjust(2, -1, 'died'),
      adjust(13, -3, 'died', 'Ann'),
      { does: 'reverse', args: ['undo'], changes: [{ pet: 13, by: 3 }] },
      { does: 'reverse', args: ['undo'], changes: [{ pet: 2, by: 1 }] },
      { does: 'reverse', args: ['redo'], changes: [{ pet: 2, by: -1 }] },
      {
        does: 'count',
        args: ['count', '--cause', 'count'],
        changes: [7, 13, 5].map((pet) => ({ pet, by: 1, cause: 'count' })),
      },
    ];
    for (const step of steps) await this.#until(step, adjust(15, 1, 'returned'));
  }

  /** Runs a step until it is done, and holds what became of it against the log of the shop. */
  async #until(step: Step, between: Step): Promise<void> {
    const { length: before } = this.#shop.writes;
    const newest = await this.#newestChange();
    const changes = [...step.changes];
    if (step.does === 'adjust') await this.#adjust(step);
    else if (step.does === 'reverse') await this.#reverse(step);
    else if (step.does === 'import') await this.#import(step);
    else if (await this.#count(step, between)) changes.push(...between.changes);
    await this.#judge(changes, before, newest, step.args.join(' '));
  }

  async #adjust(step: Step): Promise<void> {
    for (;;) {
      const newest = await this.#newestChange();
      if ((await this.#run(step.args)).code !== null) return;
      const [row] = (await this.#history()).filter(({ change }) => change > newest);
      // Where the history cannot know, the clerk looks at the list.
      if (row?.outcome === 'applied' || (row !== undefined && this.#stock(row.petId) === row.after)) return;
    }
  }

  async #reverse({ args }: Step): Promise<void> {
    for (;;) {
      const [last] = await this.#shop.runs(this.#home);
      let { code, stdout } = await this.#run(args);
      while (code === null) {
        const [run] = await this.#shop.runs(this.#home);
        const isNew = run !== undefined && run.run > (last?.run ?? 0);
        if (isNew && run.state === 'finished' && run.done > 0) return;
        ({ code, stdout } = await this.#run(isNew && run.state === 'unfinished' ? ['runs', 'resume'] : args));
      }
      // The newest command was one that was killed before it had changed anything.
      if (!stdout.startsWith('Nothing to change')) return;
    }
  }

  async #import({ args }: Step): Promise<void> {
    for (;;) {
      const { code, stderr } = await this.#run(args);
      if (code === 0 || stderr.includes('has added these rows already')) return;
      if (code !== null) throw new Error(stderr);
    }
  }

  /** @returns whether something was returned in between */
  async #count({ args, changes }: Step, between: Step): Promise<boolean> {
    const scans = changes.map(({ pet }) => `${pet} ${this.#stock(pet) + 1}\n`);
    const [last] = await this.#shop.runs(this.#home);
    let isBetween = false;
    let next = args;
    for (;;) {
      if ((await this.#run(next, scans)).code !== null) return isBetween;
      const [run] = await this.#shop.runs(this.#home);
      if (run === undefined || run.run === last?.run) continue;
      if (run.state === 'finished') return isBetween;
      next = run.done + run.left > 0 ? ['runs', 'resume'] : [...args, '--resume'];
      if (!isBetween) await this.#adjust(between);
      isBetween = true;
    }
  }

  /** Each change of the step is one write that the shop has, and one row of the history. */
  async #judge(changes: readonly Change[], from: number, newest: number, what: string): Promise<void> {
    const rows = (await this.#history()).filter(({ change }) => change > newest);
    const versionsOf = (pet: bigint) => this.#shop.versions.get(pet)!;
    const writes = this.#shop.writes.slice(from).map(({ pet, quantity, found = 0 }) => {
      const before = Number(versionsOf(pet)[found]!.quantity);
      const row = rows.find(
        (each) => BigInt(each.petId) === pet && BigInt(each.after) === quantity && each.before === before,
      );
      return textOf({
        pet: Number(pet),
        by: Number(quantity) - before,
        cause: row?.cause ?? '',
        who: row?.who ?? 'nobody',
      });
    });
    const wanted = changes.map((each) => textOf({ cause: '', who: CLERK, ...each }));
    const isSame = JSON.stringify(writes.toSorted()) === JSON.stringify(wanted.toSorted());
    if (!isSame) this.broken.push(`${what}: wanted ${wanted.join(', ')}; the shop has ${writes.join(', ')}`);
    for (const { outcome, petId, after, before } of rows) {
      const by = after - before;
      if (outcome === 'applied' && !changes.some((each) => each.pet === petId && each.by === by)) {
        this.broken.push(`${what}: the history has pet ${petId} by ${by}, which was not wanted`);
      }
    }
  }

  #stock(pet: number): number {
    return Number(this.#shop.versions.get(BigInt(pet))!.at(-1)!.quantity);
  }

  /** Runs a command, which is killed at some step until there were enough kills. `code`: null for a kill. */
  async #run(words: readonly string[], scans?: readonly string[]) {
    this.#shop.process++;
    const isKilled = this.kills < this.#mostKills;
    const running = startPetstore(['inventory', ...words, ...(words[0] === 'runs' ? [] : ['--yes'])], {
      home: this.#home,
      env: {
        ...staging(this.#shop.baseUrl),
        PETSTORE_PERSON: CLERK,
        ...(isKilled && diesAt(MOST_STEPS * this.#random() ** 2)),
      },
      stdin: { open: true },
    });
    const isCount = scans !== undefined && words[0] === 'count';
    void running
      .waitFor(isCount ? /^Stocktake .*(?:done ends it|so far)/m : /^/, 'stderr')
      .then(() => {
        const kept = Number(/continues: (\d+) scan/.exec(running.stderr)?.[1] ?? 0);
        if (isCount) running.write(scans.slice(kept).join(''));
        running.endInput();
      })
      .catch(() => undefined);
    const { code, signal, stdout, stderr } = await running.exited;
    await this.#shop.idle();
    if (signal === 'SIGKILL') this.kills++;
    else if (code !== 0 && words[0] !== 'import') throw new Error(`${words.join(' ')}: exit ${code}, ${stderr}`);
    return { code, stdout, stderr };
  }

  #history(): Promise<readonly HistoryRow[]> {
    return this.#shop.ask(this.#home, ['history', '--limit', `${NEWEST}`]);
  }

  /** Rows of a run that is resumed are older than what was sent meanwhile. */
  async #newestChange(): Promise<number> {
    return Math.max(0, ...(await this.#history()).map(({ change }) => change));
  }
}

function textOf({ pet, by, cause, who }: Required<Change>): string {
  return `pet ${pet} ${by} ${cause} ${who}`;
}
