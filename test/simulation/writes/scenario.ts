/** What a seed decides: how many faults there are, which commands run, and what happens to each process. */
import type { Random } from '../../../src/ports.ts';
import type { Fate, Moment } from './process.ts';
import { pick } from './service.ts';

export interface Scenario {
  readonly pets: number;
  /** How many commands, one after another or two at a time. */
  readonly commands: number;
  /** Chance that two run at the same time. */
  readonly together: number;
  /** Chance that a request or its answer meets with something: lost, silent, 5xx, broken. */
  readonly fault: number;
  /** Chance that an answer takes up to 20 s. */
  readonly slow: number;
  /** Chance at each arrival and each answer that another client sets a pet soon. */
  readonly foreign: number;
  /** Chance that a connection cannot be made. */
  readonly refused: number;
  /** Chance at each answer that the state database cannot be written then, for up to 8 s. */
  readonly trouble: number;
  /** Chances for each process. */
  readonly kill: number;
  readonly signal: number;
  readonly deadline: number;
  /** Chance that a command imports the delivery whose file grows. */
  readonly delivery: number;
  /** Of a person at a terminal, who is asked. */
  readonly terminal: number;
}

/** The command line of each kind of command. */
const LINES = {
  set: ({ pet, quantity }) => `inventory set ${pet} ${quantity}`,
  'set --expect': ({ pet, quantity, expected }) => `inventory set ${pet} ${quantity} --expect ${expected}`,
  'set --read-first': ({ pet, quantity }) => `inventory set ${pet} ${quantity} --read-first`,
  adjust: ({ pet = 0n, deltas }) => `inventory adjust ${pet} +${deltas?.get(pet)}`,
  import: ({ file }) => `inventory import ${file}`,
  'import --add': ({ file }) => `inventory import ${file}`,
  delivery: ({ file }) => `inventory import ${file} --resume`,
  edit: () => 'inventory edit',
  count: () => 'inventory count',
  browse: () => 'inventory browse --plain',
  undo: () => 'inventory undo',
  'undo N': ({ number }) => `inventory undo ${number}`,
  'undo --run N': ({ number }) => `inventory undo --run ${number}`,
  redo: () => 'inventory redo',
  resume: () => 'inventory runs resume',
  discard: ({ number }) => `inventory runs discard ${number}`,
  api: ({ pet, quantity }) => `api PATCH /inventory/${pet} -f quantity=${quantity}`,
  smoke: ({ pet }) => `smoke --write --pet ${pet} --only write-set,write-restore`,
} as const satisfies Readonly<Record<string, (operation: Operation) => string>>;

export type Kind = keyof typeof LINES;

/** What a command is asked to do. */
export interface Operation {
  readonly kind: Kind;
  readonly pet?: bigint;
  readonly quantity?: bigint;
  readonly expected?: bigint;
  /** Of a change or run. */
  readonly number?: bigint;
  /** By pet: to be added. */
  readonly deltas?: ReadonlyMap<bigint, bigint>;
  /** By pet: to be set. */
  readonly quantities?: ReadonlyMap<bigint, bigint>;
  readonly file?: string;
  /** What the user types, or writes in the editor. */
  readonly typed?: string;
}

const KINDS: readonly Kind[] = [
  ...(Object.keys(LINES) as Kind[]),
  ...(['undo', 'undo', 'undo', 'redo', 'redo', 'adjust', 'import', 'import --add', 'import --add'] as const),
];

/** Half of the seeds have a fault not at all, so that each is also met alone. */
export function drawScenario(random: Random): Scenario {
  const some = (...rates: readonly number[]): number => (random() < 0.5 ? 0 : pick(rates, random));
  return {
    pets: 1 + Math.floor(random() * 4),
    commands: 2 + Math.floor(random() * 7),
    together: some(0.3),
    fault: some(0.05, 0.2, 0.5),
    slow: some(0.1, 0.3),
    foreign: some(0.1, 0.4),
    refused: some(0.1),
    trouble: some(0.3, 0.6),
    kill: some(0.2, 0.6),
    signal: some(0.3, 0.8),
    deadline: some(0.2, 0.5),
    delivery: some(0.3, 0.7),
    terminal: some(0.3, 1),
  };
}

/** Each process has a good hundred steps; most of what matters is in the first fifty. */
const MOST_STEPS = 120;
const LONGEST_ANSWER_MS = 55_000;

export function drawFate(scenario: Scenario, random: Random): Fate {
  const when = (chance: number): Moment | undefined => {
    if (random() >= chance) return undefined;
    return random() < 0.5 ? { step: 1 + Math.floor(MOST_STEPS ** random()) } : { chance: 0.3 };
  };
  const kill = when(scenario.kill);
  const stop = when(scenario.signal);
  const isAsked = random() < scenario.terminal;
  return {
    refused: scenario.refused,
    ...(kill !== undefined && { kill }),
    ...(stop !== undefined && { stop: { ...stop, signal: pick(['SIGINT', 'SIGTERM', 'SIGHUP'], random) } }),
    ...(isAsked && { answersAfterMs: LONGEST_ANSWER_MS ** random(), answersNo: random() < 0.1 }),
  };
}

/** @param present the quantity that a pet has now */
export function drawOperation(
  scenario: Scenario,
  random: Random,
  serial: number,
  present: (pet: bigint) => bigint,
): Operation {
  const kind = random() < scenario.delivery ? 'delivery' : pick(KINDS, random);
  const some = (least: number, most: number): bigint => BigInt(Math.floor(least + (most - least) * random()));
  const pet = some(1, scenario.pets + 1);
  const all = Array.from({ length: scenario.pets }, (_, i) => BigInt(i + 1));
  const chosen = all.filter((each) => each === pet || random() < 0.7);
  const amounts = (least: number) => new Map(chosen.map((each) => [each, some(least, 500_000)]));
  const csv = (column: string, rows: Iterable<readonly bigint[]>): string =>
    [`petId,${column}`, ...[...rows].map((row) => row.join(',')), ''].join('\n');
  const [quantities, deltas] = [amounts(2_000), amounts(1_000)];
  const lines = [...quantities].map((row) => row.join(' '));
  switch (kind) {
    case 'import':
      return { kind, file: `stock-${serial}.csv`, quantities, typed: csv('quantity', quantities) };
    case 'import --add':
      return { kind, file: `stock-${serial}.csv`, deltas, typed: csv('delta', deltas) };
    case 'delivery':
      return { kind, file: 'delivery.csv', typed: csv('delta', delivered(scenario.pets, 1 + Math.floor(serial / 4))) };
    case 'edit':
      return { kind, quantities, typed: csv('quantity', quantities) };
    // What an earlier one has left is offered, so that these are not all that may be set.
    case 'count':
    case 'browse':
      return { kind, typed: [...lines, ...(kind === 'count' ? ['done'] : ['apply', 'q']), ''].join('\n') };
    case 'adjust':
      return { kind, pet, deltas: new Map([[pet, some(1_000, 500_000)]]) };
    case 'set --expect':
      return { kind, pet, quantity: some(2_000, 500_000), expected: present(pet) };
    default:
      return { kind, pet, quantity: some(2_000, 500_000), number: some(1, 5) };
  }
}

/** The first rows of the delivery whose file grows: each adds a decimal place of its own, far above what others set. */
function delivered(pets: number, count: number): bigint[][] {
  return Array.from({ length: count }, (_, i) => [BigInt(1 + (i % pets)), 10n ** BigInt(6 + i)]);
}

/** Whether each row of the delivery whose file grows is in this sum once, or not at all. */
export const isDeliveredOnce = (sum: bigint): boolean => /^([01]+000000|0)$/.test(`${sum}`);

/** The command line of an operation. */
export function argsOf(operation: Operation): readonly string[] {
  return LINES[operation.kind](operation).split(' ');
}
