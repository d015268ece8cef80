/**
 * Lets machines that share a key and a Redis server change the same pets at random, while answers are lost, processes
 * killed or stopped, and Redis restarted empty, killed for seconds or replaced by a replica. Prints a TAP point for each
 * seed (`npm run fleet -- 7 8`), which chooses what is done, but not how long it takes: a failed one may pass later.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { MAX_WAIT_HEADER } from '../../src/client/service.ts';
import { type Finished, startPetstore } from '../support/binary.ts';
import { withCleanup } from '../support/cleanup.ts';
import { createHome, fileIn } from '../support/home.ts';
import { hasRedis, redisCli, startRedis } from '../support/redis.ts';
import { error, type Exchange, item, json, type PlainReply, send, tooMany } from '../support/replies.ts';
import { type Handler, listen } from '../support/served.ts';
import { KEY, staging } from '../support/staging.ts';
import { mulberry32 } from '../support/test-ports.ts';
import { startReplica } from './faults.ts';
import { Tap } from './tap.ts';

const MACHINES = 4;
const PETS = [1, 2, 3, 4, 5, 6];
/** Of each pet at first. */
const STOCK = 10_000;
const WINDOW_MS = 5_000;
const LIMIT = 60;
const LAST_START = Date.now() + 30_000;
/** The longest stop of a process: longer than a lock lasts. */
const STOP_MS = 12_000;
/** What a command takes beside one wait. */
const MARGIN_MS = 40_000;
/** By when all machines have heard of a refusal: half a second, and as much for a busy machine. */
const HEARD_MS = 1_000;

/** A command line. `adds`: what it adds to each pet. */
type Task = { args: readonly string[]; stdin?: string; adds?: readonly (readonly [pet: number, delta: number])[] };
/** A process. `seen`: the quantities that it was last shown. `isTroubled`: it was killed or stopped. */
type Command = { task: Task; seen: Map<number, number>; ended?: Finished | undefined; isTroubled: boolean };

class Fleet {
  readonly broken: string[] = [];
  readonly commands: Command[] = [];
  readonly writes: { by: Command; pet: number; seen?: number; before: number; after: number; over: Command }[] = [];
  readonly #byMaxWait = new Map<number, Command>();
  #random = Math.random;
  #window = { end: 0, used: 0 };
  #wait: { until: number; at: number; by?: Command | undefined; late: number } = { until: 0, at: 0, late: 0 };
  #faultAt = 0;

  async run(seed: number): Promise<void> {
    const randoms = Array.from({ length: MACHINES + 2 }, (_, i) => mulberry32(100 * seed + i));
    this.#random = randoms.pop()!;
    const redis = await startRedis();
    const tap = await Tap.open(redis.port);
    const port = await listen(this.#serve);
    const env = { ...staging(`http://127.0.0.1:${port}/v1`), PETSTORE_LEDGER: `redis://127.0.0.1:${tap.port}` };
    const faults = this.#troubleRedis(randoms.pop()!, redis, tap);
    await Promise.all([faults, ...randoms.map((random, machine) => this.#work(random, machine, env))]);
    for (const task of new Set(this.commands.map((command) => command.task))) this.#judge(task);
    for (const { by, pet, seen, before, after, over } of this.writes) {
      const isWarned = [by, over].some(({ ended }) => ended?.stderr.includes('unprotected') !== false);
      if (over === by || seen === before || isWarned) continue;
      const [one, other] = [by, over].map(({ task }) => task.args.join(' '));
      this.broken.push(`${one}: set pet ${pet}, which had ${seen}, to ${after}, over ${before} of ${other}`);
    }
  }

  async #work(random: () => number, machine: number, env: Record<string, string>): Promise<void> {
    const home = createHome();
    for (let turn = 0, last: Command | undefined; Date.now() < LAST_START; turn++) {
      // An import is repeated until it has done all of its rows, but not forever.
      const isLeft = last?.task.args[1] === 'import' && last.ended?.code !== 0 && random() < 0.7;
      const task = isLeft ? last!.task : taskOf(random, (text) => fileIn(home, `${turn}.csv`, text));
      const command: Command = { task, seen: new Map(), isTroubled: false };
      this.commands.push((last = command));
      const wait = 8 + machine + MACHINES * (turn % 2);
      this.#byMaxWait.set(wait, command);
      const options = { home, env, stdin: task.stdin ?? '', killAfterMs: 1_000 * wait + MARGIN_MS + STOP_MS };
      const running = startPetstore(['--json', '--timeout', '4s', '--max-wait', `${wait}s`, ...task.args], options);
      const [kind, afterMs, stopMs] = [random(), 200 + 3_000 * random(), STOP_MS * random()];
      void pause(afterMs).then(async () => {
        command.isTroubled = kind < 0.1 && command.ended === undefined;
        if (command.isTroubled) running.kill(kind < 0.04 ? 'SIGKILL' : 'SIGSTOP');
        await pause(stopMs);
        running.kill('SIGCONT');
      });
      command.ended = await running.exited.catch((reason) => void this.broken.push(String(reason)));
    }
  }

  async #troubleRedis(random: () => number, redis: Awaited<ReturnType<typeof startRedis>>, tap: Tap): Promise<void> {
    while (await pause(1_000 + 4_000 * random(), Date.now() < LAST_START)) {
      const [kind, ms] = [random(), 2_500 * random()];
      const next = await (kind < 0.4 ? startReplica(redis) : startRedis());
      // What is written after this is lost.
      if (kind < 0.4) await redisCli(next.port, 'REPLICAOF', 'NO', 'ONE').then(() => pause(ms));
      const goneMs = kind < 0.85 ? 0 : 2_000 + ms;
      this.#faultAt = Date.now() + goneMs;
      if (goneMs === 0) tap.target = next.port;
      await redis.kill('SIGKILL').then(() => pause(goneMs));
      [tap.target, redis] = [next.port, next];
    }
  }

  /** Does an update when it arrives; the answer may come late, or not at all. */
  readonly #serve: Handler = async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString();
    const by = this.#byMaxWait.get(Number(request.headers[MAX_WAIT_HEADER]));
    const refused = request.headers.authorization === `Bearer ${KEY}` ? this.#refuse(by) : error(401);
    const kind = this.#random();
    const reply = refused ?? (kind < 0.06 ? error(503) : this.#reply(request.url!, body, by));
    await pause(30 + (this.#random() < 0.1 ? 2_000 : 300) * this.#random());
    if (refused === undefined && kind > 0.94) return void request.socket.destroy();
    const shown = (reply.status === undefined ? [reply.json].flat() : []) as { petId: number; quantity: number }[];
    for (const { petId, quantity } of shown) by?.seen.set(petId, quantity);
    const resetsIn = Math.ceil((this.#window.end - Date.now()) / 1_000);
    const limits = { limit: LIMIT, remaining: Math.max(0, LIMIT - this.#window.used), resetsIn };
    await send({ ...reply, limits }, { res: response } as Exchange);
  };

  #reply(url: string, body: string, by?: Command): PlainReply {
    const last = (pet: number) => this.writes.findLast((each) => each.pet === pet);
    if (url === '/v1/inventory') return json(PETS.map((pet) => item(pet, last(pet)?.after ?? STOCK)));
    const [pet, after] = [Number(/\d+$/.exec(url)), Number(/-?\d+(?=\}$)/.exec(body) ?? NaN)];
    if (by === undefined || !PETS.includes(pet) || body !== `{"quantity":${after}}`) return error(400);
    const { after: before = STOCK, by: over = by } = last(pet) ?? {};
    this.writes.push({ by, pet, seen: by.seen.get(pet)!, before, after, over });
    return json(item(pet, after));
  }

  /** Answers 429 during a wait, where the limit is used up, and now and then. */
  #refuse(by?: Command): PlainReply | undefined {
    const now = Date.now();
    if (now >= this.#window.end) this.#window = { end: now + WINDOW_MS, used: 0 };
    if (now >= this.#wait.until) {
      if (++this.#window.used <= LIMIT && this.#random() > 0.006) return undefined;
      this.#wait = { until: Math.max(this.#window.end, now + 3_000), at: now, by, late: 0 };
    }
    const { until, at, by: first } = this.#wait;
    // Each machine may send one if the first process or Redis was lost, and with it what they knew.
    const most = first?.isTroubled === false && this.#faultAt < at - 10_000 ? 0 : MACHINES;
    if (now > at + HEARD_MS && ++this.#wait.late > most) this.broken.push(`sent ${now - at} ms after a 429`);
    return tooMany(Math.ceil((until - now) / 1_000));
  }

  /** Each addition is done once if it was reported applied, never if it was reported failed, and not twice. */
  #judge(task: Task): void {
    const commands = this.commands.filter((each) => each.task === task);
    for (const [pet, delta] of task.adds ?? []) {
      const writes = this.writes.filter((each) => each.by.task === task && each.pet === pet);
      const added = writes.filter(({ before, after }) => before !== after);
      const said = commands.flatMap(({ ended }) => {
        const rows = ended?.stdout.matchAll(new RegExp(`"petId":${pet},.*"state":"([a-z]+)"`, 'g')) ?? [];
        if (task.args[1] === 'import') return [...rows].map(([, state]) => state);
        return [ended?.code === 0 ? 'applied' : /"outcome":"([a-z-]+)"/.exec(ended?.stderr ?? '')?.[1]];
      });
      const isFailed = said.length === commands.length && said.every((each = '') => /^(failed|not-.*)$/.test(each));
      const isRight = added.every(({ seen, after }) => seen === undefined || after - seen === delta);
      if (!isRight || added.length > (isFailed ? 0 : 1) || added.length < Number(said.includes('applied')))
        this.broken.push(`${task.args.join(' ')}: pet ${pet}, ${delta}: ${said.join()}; done ${added.length} times`);
    }
  }
}

/** Chooses what a machine does next. Quantities are large, so that none is taken for another. */
function taskOf(random: () => number, write: (text: string) => string): Task {
  const upTo = (most: number): number => 1 + Math.floor(most * random());
  const [kind, pet, quantity] = [upTo(21), upTo(PETS.length), upTo(20_000)];
  const adds = PETS.map((each) => [each, upTo(2_000)] as const);
  const rows = (columns: string): string => write([columns, ...adds.map((each) => each.join())].join('\n'));
  const load = (columns: string): string[] => ['inventory', 'import', rows(columns), '--yes', '--resume', '--events'];
  if (kind <= 6) return { args: load('petId,delta'), adds };
  if (kind <= 10) return { args: load('petId,quantity') };
  if (kind <= 12) return { args: ['inventory', 'set', `${pet}`, `${quantity}`, '--read-first'] };
  if (kind <= 14) return { args: ['inventory', kind === 13 ? 'undo' : 'redo', '--yes'] };
  if (kind === 15) return { args: ['inventory', 'count', '--yes'], stdin: `1 ${quantity}\n2 ${quantity}\ndone\n` };
  if (kind === 16) return { args: ['smoke', '--write', '--pet', `${pet}`] };
  return { args: ['inventory', 'adjust', `${pet}`, `+${quantity}`], adds: [[pet, quantity]] };
}

const seeds = process.argv.length > 2 ? process.argv.slice(2) : ['15', '16', '17'];
process.stdout.write(`TAP version 14\n1..${hasRedis ? seeds.length : '0 # SKIP redis-server is not installed'}\n`);
const points = (hasRedis ? seeds : []).map(async (seed, i) => {
  const fleet = new Fleet();
  await withCleanup(() => fleet.run(Number(seed)));
  const line = `ok ${i + 1} - seed ${seed}: ${fleet.commands.length} commands, ${fleet.writes.length} changes`;
  process.stdout.write(`${[fleet.broken.length > 0 ? `not ${line}` : line, ...fleet.broken].join('\n# ')}\n`);
  if (fleet.broken.length > 0) process.exitCode = 1;
});
await Promise.all(points);
