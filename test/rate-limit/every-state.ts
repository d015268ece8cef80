/**
 * Searches every state that the governor, its clients and a service can reach together, breadth first.
 *
 * Time passes in ticks and is stored relative to the present. States that no later step can tell apart count as one:
 * the identity of two like processes, or how long ago something happened if only the order matters. So the number of
 * states is finite, each is checked once, and the first violation found has the shortest path to it.
 */
import {
  abandon,
  type Answer,
  decide,
  type LedgerState,
  lose,
  observe,
  UNKNOWN,
} from '../../src/rate-limit/governor.ts';
import { LONGEST_BLOCK_MS } from '../../src/rate-limit/headers.ts';
import { isRefusal, shift } from '../../src/rate-limit/ledger.ts';
import type { Reservation } from '../../src/rate-limit/windows.ts';

export interface Bounds {
  /** The process of each client: `[0, 0, 1]` are two clients of one process and one of another. */
  readonly processes: readonly number[];
  /** Requests that the service allows in each window. */
  readonly limit: number;
  /** How long a window lasts, ticks; it begins with its first request. */
  readonly windowTicks: number;
  /** At least the longest pace that the governor can get to. */
  readonly tickMs: number;
  /** How many operations the clients use. */
  readonly operations: 1 | 2;
  /** Each operation has a window of its own. */
  readonly apart: boolean;
  /** Without them the service tells nothing of its windows; a 429 names its wait in any case. */
  readonly headers: boolean;
  /** Alone with the key, the clients are refused nothing as long as nothing goes wrong. */
  readonly unrefused: boolean;
  /**
   * How much may go wrong on the way to a state: another client's request, a death, a lost answer or request, a
   * connection that closes, a 403, a 500, a 503.
   */
  readonly faults: number;
  /** For how many ticks at most an answer may be on its way: a process was stopped, and resumes. */
  readonly lateTicks: number;
}

const PLAIN: Bounds = {
  processes: [0, 1],
  limit: 2,
  windowTicks: 2,
  tickMs: 60_000,
  operations: 1,
  apart: false,
  headers: true,
  unrefused: true,
  faults: 1,
  lateTicks: 1,
};

/** What CI searches. */
export const SCENARIOS: Readonly<Record<string, Bounds>> = {
  'two processes': { ...PLAIN, faults: 3 },
  'three processes': { ...PLAIN, processes: [0, 1, 2], faults: 2 },
  'three clients, two of one process': { ...PLAIN, processes: [0, 0, 1], limit: 3 },
  'answers that take long': { ...PLAIN, unrefused: false, lateTicks: 4 },
  'ticks of a second': { ...PLAIN, tickMs: 1_000, windowTicks: 4, faults: 0 },
  'no limit headers': { ...PLAIN, windowTicks: 3, headers: false, unrefused: false, faults: 2 },
  'two operations': { ...PLAIN, operations: 2, lateTicks: 0 },
  'two operations, each with its own limit': { ...PLAIN, operations: 2, apart: true, lateTicks: 0 },
};

export interface Found {
  readonly states: number;
  readonly transitions: number;
  /** Steps to the state that is furthest from the start. */
  readonly depth: number;
  readonly violation?: Violation;
}

export interface Violation {
  readonly what: string;
  /** The shortest way there: what happened, and the ledger after each step. */
  readonly path: readonly { readonly name: string; readonly ledger: LedgerState }[];
}

interface Leave {
  readonly phase: 'leave';
  readonly operation: string;
  /** A tick has passed, or a refusal has come to its process, since leave was given. */
  readonly isOld: boolean;
  readonly isProbe: boolean;
}

interface Sent {
  readonly phase: 'sent' | 'answered';
  readonly operation: string;
  readonly isProbe: boolean;
  /** Ticks since the first byte was written. */
  readonly age: number;
  readonly reply?: Reply;
}

type Client = { readonly phase: 'idle' } | Leave | Sent;

interface Reply {
  readonly status: number;
  readonly remaining?: number;
  readonly resetInMs?: number;
  readonly waitMs?: number;
  /** When the wait that it names is over, for the service. */
  readonly waitsUntil: number;
}

interface State {
  readonly ledger: LedgerState;
  readonly clients: readonly Client[];
  /** Operations of requests that are on their way although no client waits for their answers. */
  readonly orphans: readonly string[];
  readonly counters: readonly { readonly endsAt: number; readonly used: number }[];
  /** When all waits are over that observed answers have named, for the service. */
  readonly heardUntil: number;
  readonly faults: number;
}

interface Step {
  readonly name: string;
  readonly state: State;
  readonly violation?: string;
}

/** The present, in every state. */
const NOW = 1e9;
/** The service names its waits this much too short: the governor's own margin, so that it waits to the ms. */
const MARGIN_MS = 1_000;
/** There are finitely many, unless a time is kept that no later step needs: #canonical has to leave it out. */
const MOST_STATES = 5_000_000;
const NAMES = 'ABCDEFGH';
const OPERATIONS = ['GET', 'PATCH'];
const IDLE: Client = { phase: 'idle' };

/** Searches all states within the bounds, or up to the first violation. */
export function search(bounds: Bounds): Found {
  const model = new Model(bounds);
  const keys = new Set<string>();
  const parents: number[] = [];
  const choices: number[] = [];
  let transitions = 0;
  let depth = 0;
  const pathTo = (id: number, last: readonly Step[]): Violation['path'] => {
    const chosen: number[] = [];
    for (let at = id; at > 0; at = parents[at]!) chosen.unshift(choices[at]!);
    const path: Step[] = [];
    for (const choice of chosen) path.push(model.steps(path.at(-1)?.state ?? model.start)[choice]!);
    return [...path, ...last].map(({ name, state }) => ({ name, ledger: shift(state.ledger, -NOW) }));
  };
  const result = (): Omit<Found, 'violation'> => ({ states: keys.size, transitions, depth });
  let level: (readonly [id: number, state: State])[] = [[0, model.start]];
  keys.add(model.keyOf(model.start));
  for (;;) {
    const next: typeof level = [];
    for (const [id, state] of level) {
      const stuck = model.stuck(state);
      if (stuck !== undefined) return { ...result(), violation: { what: stuck, path: pathTo(id, []) } };
      for (const [choice, step] of model.steps(state).entries()) {
        transitions++;
        if (step.violation !== undefined) {
          return { ...result(), violation: { what: step.violation, path: pathTo(id, [step]) } };
        }
        const key = model.keyOf(step.state);
        if (keys.has(key)) continue;
        parents[keys.size] = id;
        choices[keys.size] = choice;
        next.push([keys.size, step.state]);
        keys.add(key);
        if (keys.size > MOST_STATES) throw new RangeError(`more than ${MOST_STATES} states, such as ${key}`);
      }
    }
    if (next.length === 0) return result();
    level = next;
    depth++;
  }
}

class Model {
  readonly start: State;
  readonly #bounds: Bounds;
  readonly #operations: readonly string[];

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
    this.#operations = OPERATIONS.slice(0, bounds.operations);
    this.start = {
      ledger: UNKNOWN,
      clients: bounds.processes.map(() => IDLE),
      orphans: [],
      counters: this.#operations.slice(0, bounds.apart ? undefined : 1).map(() => ({ endsAt: NOW, used: 0 })),
      heardUntil: NOW,
      faults: bounds.faults,
    };
  }

  /** Returns all that can happen next. */
  steps(state: State): Step[] {
    const steps: Step[] = [];
    for (const i of state.clients.keys()) {
      steps.push(...this.#ofClient(state, i));
    }
    steps.push(...this.#beside(state), ...this.#tick(state));
    return steps.map((step) => ({ ...step, state: this.#canonical(step.state) }));
  }

  /**
   * Returns why a request might never be sent, if so: although nothing that is under way is ever answered, one that asks
   * must get leave once all that the ledger knows of is over, and be told to wait no longer than until then.
   */
  stuck(state: State): string | undefined {
    const { block, windows, inFlight, pace } = state.ledger;
    const over = Math.max(
      NOW,
      block?.until ?? NOW,
      pace?.nextAt ?? NOW,
      ...windows.map(({ resetAt }) => resetAt),
      ...inFlight.map(({ lostAt }) => lostAt + 1),
    );
    if (over > NOW + LONGEST_BLOCK_MS) return `stuck for ${over - NOW} ms`;
    for (const operation of this.#operations) {
      const now = this.#decide(state.ledger, NOW, 'new', operation).hold;
      if (now !== undefined && now.until > over)
        return `told to wait ${now.until - over} ms longer than anything lasts`;
      const then = this.#decide(state.ledger, over, 'new', operation).hold;
      if (then !== undefined) return `stuck: ${then.why} although all is over`;
    }
    return undefined;
  }

  #decide(ledger: LedgerState, now: number, id: string, operation: string) {
    const intent = { id, operation: `${operation} https://pets.example/`, reserve: 0 };
    return decide(this.#withoutDead(ledger, now), now, { ...intent, timeoutMs: 115_000 });
  }

  /** As each step of the ledger begins. */
  #withoutDead(ledger: LedgerState, now: number): LedgerState {
    return ledger.inFlight
      .filter(({ id }) => id.startsWith('dead'))
      .reduce((left, each) => abandon(left, now, each), ledger);
  }

  #ofClient(state: State, i: number): Step[] {
    const client = state.clients[i]!;
    const name = NAMES[i]!;
    const isPossible = state.faults > 0;
    if (client.phase === 'idle') return this.#operations.flatMap((operation) => this.#ask(state, i, operation));
    const steps: Step[] = [];
    if (client.phase === 'leave') {
      // The gate looks at its leave before the first byte.
      const mayWrite = !client.isOld;
      if (mayWrite) steps.push(this.#write(state, i, client));
      if (!mayWrite || isPossible) {
        const withdrawn = this.#lose(mayWrite ? atFault(state) : state, i, false);
        steps.push({ name: `${name} withdraws`, state: withdrawn });
      }
    } else if (client.phase === 'sent') {
      steps.push(...this.#arrive(state, i, client));
      if (isPossible) {
        const lost = this.#lose(atFault(state), i, true);
        steps.push({ name: `${name}'s request is lost`, state: lost });
        const orphaned = { ...lost, orphans: [...lost.orphans, client.operation] };
        steps.push({ name: `${name} gives up waiting`, state: orphaned });
      }
    } else {
      steps.push(this.#observe(state, i, client));
      if (isPossible) steps.push({ name: `${name}'s answer is lost`, state: this.#lose(atFault(state), i, true) });
    }
    if (isPossible) steps.push(this.#die(state, i, 'dead'), this.#die(state, i, 'ghost'));
    return steps;
  }

  #ask(state: State, i: number, operation: string): Step[] {
    const { clients, ledger, heardUntil } = state;
    const { processes } = this.#bounds;
    // One idle client of a process is like another.
    if (clients.findIndex((each, j) => each.phase === 'idle' && processes[j] === processes[i]) !== i) return [];
    const { state: after, hold } = this.#decide(ledger, NOW, name(i), operation);
    if (hold !== undefined) return [];
    const before = this.#withoutDead(ledger, NOW);
    const isLive = before.windows.some((each) => each.operation.startsWith(`${operation} `) && each.resetAt > NOW);
    const isProbe = before.block !== undefined || (this.#operations.length === 1 && !isLive);
    const leave: Leave = { phase: 'leave', operation, isOld: false, isProbe };
    const others = before.inFlight.filter(({ lostAt }) => lostAt >= NOW).map(({ id }) => id);
    const violation =
      before.block !== undefined && before.block.until > NOW
        ? 'leave is given inside a block of the ledger'
        : heardUntil > NOW
          ? 'leave is given inside a wait that an observed answer has named'
          : isProbe && clients.some((each, j) => 'isProbe' in each && each.isProbe && others.includes(name(j)))
            ? 'a second probe'
            : undefined;
    const next = { ...state, ledger: after, clients: clients.with(i, leave) };
    return [{ name: `${NAMES[i]} gets leave to ${operation}`, state: next, ...(violation && { violation }) }];
  }

  #write(state: State, i: number, { operation, isProbe }: Leave): Step {
    const sent: Client = { phase: 'sent', operation, isProbe, age: 0 };
    return { name: `${NAMES[i]} writes its request`, state: { ...state, clients: state.clients.with(i, sent) } };
  }

  #arrive(state: State, i: number, client: Sent): Step[] {
    const { tickMs, faults, unrefused } = this.#bounds;
    const answered = (from: State, verb: string, reply: Reply, violation?: string): Step => ({
      name: `${NAMES[i]}'s request arrives: ${verb}`,
      state: { ...from, clients: from.clients.with(i, { ...client, phase: 'answered', reply }) },
      ...(violation !== undefined && { violation }),
    });
    const { after, reply } = this.#count(state, client.operation);
    const isAlone = unrefused && state.faults === faults;
    const steps = [
      answered(
        after,
        `${reply.status}`,
        reply,
        reply.status === 429 && isAlone ? 'refused although alone with the key, and nothing went wrong' : undefined,
      ),
    ];
    if (state.faults === 0) return steps;
    for (const [status, ticks] of [
      [403, 2],
      [500, 0],
      [503, 1],
    ] as const) {
      const waitMs = ticks * tickMs - MARGIN_MS;
      const named = ticks === 0 ? { waitsUntil: NOW } : { waitMs, waitsUntil: NOW + waitMs };
      steps.push(answered(atFault(state), `${status}`, { status, ...named }));
    }
    return steps;
  }

  /** The service counts a request. */
  #count(state: State, operation: string): { after: State; reply: Reply } {
    const { apart, limit, windowTicks, tickMs, headers } = this.#bounds;
    const at = apart ? OPERATIONS.indexOf(operation) : 0;
    const known = state.counters[at]!;
    const counter = known.endsAt > NOW ? known : { endsAt: NOW + windowTicks * tickMs, used: 0 };
    const isAllowed = counter.used < limit;
    const used = isAllowed ? counter.used + 1 : counter.used;
    const after = { ...state, counters: state.counters.with(at, { ...counter, used }) };
    const resetInMs = counter.endsAt - NOW;
    const waitMs = resetInMs - MARGIN_MS;
    const reply: Reply = {
      status: isAllowed ? 200 : 429,
      ...(headers && { remaining: limit - used, resetInMs }),
      ...(isAllowed ? { waitsUntil: NOW } : { waitMs, waitsUntil: NOW + waitMs }),
    };
    return { after, reply };
  }

  #observe(state: State, i: number, { operation, reply }: Sent): Step {
    const { limit, windowTicks, tickMs, processes } = this.#bounds;
    const { status, remaining, resetInMs, waitMs, waitsUntil } = reply!;
    const answer: Answer = {
      id: name(i),
      operation: `${operation} https://pets.example/`,
      status,
      headers: {
        ...(remaining !== undefined &&
          resetInMs !== undefined && { window: { limit, remaining, resetInMs, lengthMs: windowTicks * tickMs } }),
        ...(waitMs !== undefined && { retryAfterMs: waitMs }),
      },
      random: 0,
    };
    const before = this.#withoutDead(state.ledger, NOW);
    const ledger = observe(before, NOW, answer);
    const isOld = (each: Client, j: number): boolean =>
      each.phase === 'leave' && processes[j] === processes[i] && isRefusal({ status });
    const grown = ledger.windows.find((each) =>
      before.windows.some(
        (other) =>
          other.operation === each.operation &&
          other.resetAt > NOW &&
          other.resetAt === each.resetAt &&
          each.remaining > other.remaining,
      ),
    );
    return {
      name: `${NAMES[i]} reads its answer`,
      state: {
        ...state,
        ledger,
        clients: state.clients
          .with(i, IDLE)
          .map((each, j) => (each.phase === 'leave' && isOld(each, j) ? { ...each, isOld: true } : each)),
        heardUntil: Math.max(state.heardUntil, waitsUntil),
      },
      ...(grown && { violation: 'what remains of a window has grown' }),
    };
  }

  #lose(state: State, i: number, mayHaveBeenSent: boolean): State {
    const before = this.#withoutDead(state.ledger, NOW);
    const ledger = lose(before, NOW, name(i), mayHaveBeenSent);
    return { ...state, ledger, clients: state.clients.with(i, IDLE) };
  }

  /** A process dies, and another one takes its place. `dead`: the next step of the ledger notices; `ghost`: none does. */
  #die(state: State, i: number, how: 'dead' | 'ghost'): Step {
    const { processes } = this.#bounds;
    const isDead = (j: number): boolean => processes[j] === processes[i];
    let { ledger } = state;
    for (const j of state.clients.keys()) {
      if (!isDead(j)) continue;
      // No two deaths leave as many faults.
      const id = `${how}${state.faults}-${j}`;
      const rename = (each: Reservation): Reservation => (each.id === name(j) ? { ...each, id } : each);
      ledger = {
        ...ledger,
        inFlight: ledger.inFlight.map(rename),
      };
    }
    const sent = state.clients.filter((each, j) => isDead(j) && each.phase === 'sent');
    return {
      name: `${NAMES[i]}'s process dies${how === 'ghost' ? ' where nobody can see it' : ''}`,
      state: {
        ...atFault(state),
        ledger,
        clients: state.clients.map((each, j) => (isDead(j) ? IDLE : each)),
        orphans: [...state.orphans, ...sent.map((each) => (each as Sent).operation)],
      },
    };
  }

  /** What happens at the service without our clients. */
  #beside(state: State): Step[] {
    const steps: Step[] = [];
    for (const operation of new Set(state.orphans)) {
      const orphans = state.orphans.toSpliced(state.orphans.indexOf(operation), 1);
      steps.push(
        { name: `an abandoned ${operation} arrives`, state: { ...this.#count(state, operation).after, orphans } },
        { name: `an abandoned ${operation} is lost`, state: { ...state, orphans } },
      );
    }
    if (state.faults === 0) return steps;
    for (const operation of this.#bounds.apart ? this.#operations : OPERATIONS.slice(0, 1)) {
      steps.push({
        name: `another client's ${operation} arrives`,
        state: this.#count(atFault(state), operation).after,
      });
    }
    return steps;
  }

  /** Time passes, unless something must happen before. */
  #tick(state: State): Step[] {
    const { tickMs, lateTicks } = this.#bounds;
    const clients = state.clients.map((each): Client => {
      if (each.phase === 'idle') return each;
      return each.phase === 'leave' ? { ...each, isOld: true } : { ...each, age: each.age + 1 };
    });
    const isTooLate = (each: Client): boolean => 'age' in each && each.age > (each.phase === 'sent' ? 1 : lateTicks);
    if (state.orphans.length > 0 || clients.some(isTooLate)) return [];
    const later = (at: number): number => Math.max(NOW, at - tickMs);
    const after: State = {
      ...state,
      ledger: shift(state.ledger, -tickMs),
      clients: clients.map((each) =>
        'reply' in each ? { ...each, reply: { ...each.reply, waitsUntil: later(each.reply.waitsUntil) } } : each,
      ),
      counters: state.counters.map(({ endsAt, used }) => {
        const left = later(endsAt);
        return { endsAt: left, used: left === NOW ? 0 : used };
      }),
      heardUntil: later(state.heardUntil),
    };
    return [{ name: 'a tick passes', state: after }];
  }

  /** Returns the state without what no later step can tell. */
  #canonical(state: State): State {
    const { ledger } = state;
    const { block, pace, strikes } = ledger;
    const place = this.#placesOf(ledger);
    const reservation = (each: Reservation): Reservation => ({
      ...each,
      at: place(each.at),
      lostAt: Math.max(NOW - 1, each.lostAt),
    });
    return {
      ...state,
      ledger: {
        strikes,
        windows: ledger.windows
          .map((each) =>
            each.resetAt > NOW
              ? {
                  ...each,
                  seenAt: place(each.seenAt),
                  answeredAt: place(each.answeredAt),
                  sentAt: place(each.sentAt),
                  apart: each.apart,
                }
              : { ...each, resetAt: NOW, remaining: 0, seenAt: NOW, answeredAt: NOW, sentAt: NOW, apart: each.apart },
          )
          .sort(byOperation),
        inFlight: ledger.inFlight.map(reservation),
        lost: ledger.lost.map((each) => ({ ...each, at: place(each.at) })).sort(byOperation),
        ...(block !== undefined && { block: { ...block, since: NOW, until: place(block.until) } }),
        ...(pace !== undefined && {
          // The slow recovery of the pace is left out.
          pace: {
            everyMs: 2 ** Math.ceil(Math.log2(pace.everyMs / 1_000)) * 1_000,
            nextAt: Math.max(NOW, pace.nextAt),
            operation: pace.operation,
          },
        }),
      },
    };
  }

  /**
   * Returns where past times are put: when a request was sent, and what that is compared with, have only an order. Of
   * each kind, times with none of the other kind between them are one.
   */
  #placesOf({ windows, block, inFlight, lost }: LedgerState): (at: number) => number {
    const { tickMs } = this.#bounds;
    const live = windows.filter(({ resetAt }) => resetAt > NOW);
    const sent = new Set([...inFlight.map(({ at }) => at), ...live.map(({ sentAt }) => sentAt)]);
    const compared = new Set([
      ...live.flatMap(({ seenAt, answeredAt }) => [seenAt, answeredAt]),
      ...lost.map(({ at }) => at),
    ]);
    if (block !== undefined) compared.add(block.until);
    const places = new Map<number, number>();
    let last = 0;
    let to = NOW;
    for (const at of [...new Set([...sent, ...compared])].filter((each) => each < NOW).sort((a, b) => b - a)) {
      const kind = Number(sent.has(at)) + 2 * Number(compared.has(at));
      if (kind === 3 || kind !== last) to -= tickMs;
      last = kind;
      places.set(at, to);
    }
    return (at) => places.get(at) ?? at;
  }

  /** Returns the same text for states in which like processes, or clients of one process, have changed places. */
  keyOf({ ledger, clients, orphans, counters, heardUntil, faults }: State): string {
    const { windows, block, pace, strikes, inFlight } = ledger;
    const reserved = (id: string): string => {
      const found = inFlight.find((each) => each.id === id);
      if (found === undefined) return '';
      return `${found.operation[0]}${time(found.at)},${time(found.lostAt)}${found.isProbe === true ? 'p' : ''}`;
    };
    const processes: string[][] = [];
    for (const [i, client] of clients.entries()) {
      (processes[this.#bounds.processes[i]!] ??= []).push(`${textOf(client)}:${reserved(name(i))}`);
    }
    const live = new Set([...clients.keys()].map(name));
    const others = inFlight.map(({ id }) => id);
    const left = others.filter((id) => !live.has(id)).map((id) => id[0]! + reserved(id));
    return [
      processes
        .map((each) => each.sort().join('&'))
        .sort()
        .join('|'),
      left.sort().join('|'),
      ledger.lost.map(({ operation, many, at }) => `${operation[0]}${many}${time(at)}`).join('|'),
      windows
        .map((each) =>
          [
            each.operation[0],
            each.remaining,
            ...[each.resetAt, each.seenAt, each.answeredAt, each.sentAt].map(time),
            ...Object.keys(each.apart).sort(),
          ].join(),
        )
        .join('|'),
      block === undefined ? '' : `${block.why[0]}${time(block.until)}`,
      pace === undefined ? '' : `${pace.everyMs},${time(pace.nextAt)},${pace.operation}`,
      strikes,
      orphans.toSorted().join(),
      counters.map(({ endsAt, used }) => `${time(endsAt)},${used}`).join('|'),
      time(heardUntil),
      faults,
    ].join(';');
  }
}

const name = (client: number): string => NAMES[client]!;
const time = (at: number): number => at - NOW;

function atFault(state: State): State {
  return { ...state, faults: state.faults - 1 };
}

function byOperation(a: { readonly operation: string }, b: { readonly operation: string }): number {
  return a.operation < b.operation ? -1 : 1;
}

function textOf(client: Client): string {
  if (client.phase === 'idle') return 'i';
  const { phase, operation, isProbe } = client;
  const what = [phase, operation, isProbe];
  if (phase === 'leave') return [...what, client.isOld].join();
  const { age, reply } = client;
  if (reply === undefined) return [...what, age].join();
  const { status, remaining, resetInMs, waitMs, waitsUntil } = reply;
  return [...what, age, status, remaining, resetInMs, waitMs, time(waitsUntil)].join();
}
