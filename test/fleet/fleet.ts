/** Runs machines that share one key and one Redis server, each with its own import; returns what the service saw. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseFault } from '../../src/sandbox/faults.ts';
import type { LoggedRequest } from '../../src/sandbox/serve-request.ts';
import { type Finished, type Running, startPetstore } from '../support/binary.ts';
import { withCleanup } from '../support/cleanup.ts';
import { createHome } from '../support/home.ts';
import { realSandbox } from '../support/real-sandbox.ts';
import type { Fault } from './faults.ts';

export interface Fleet {
  readonly machines: number;
  /** Of each machine's import. */
  readonly rows: number;
  /** Requests that the key has in each window. */
  readonly limit: number;
  readonly windowMs: number;
  readonly lost: 'hold' | 'share';
  /** `--max-wait` where Redis never comes back, s; elsewhere a command waits as long as it takes. */
  readonly maxWaitS: number;
}

/** What was seen in one try. */
export interface Seen {
  /** How each machine's command ended; undefined: it was still busy when it should have ended, and was killed. */
  readonly ended: readonly (Finished | undefined)[];
  /** The promises that were not kept. */
  readonly broken: readonly string[];
}

/** How long a command may go on once Redis is back: the default of `--max-wait`. */
const LONGEST_S = 75;
/** For starting, ending and a busy machine. */
const SLACK_S = 60;
/** Within which all machines have to send again, s. */
const AGAIN_S = 30;
const TIMEOUT = '10s';
/** How long the service takes for each answer; and for the first one, if that is never to arrive. */
const ANSWER = parseFault('delay=20ms');
const FIRST = parseFault('delay=2s,nth=1');

/** Tries one fault. */
export function tryFault(fault: Fault, fleet: Fleet): Promise<Seen> {
  return withCleanup(async () => {
    const { machines, rows, limit, windowMs } = fleet;
    let onRequest = (_: LoggedRequest): void => undefined;
    const service = await realSandbox(
      { perMinute: limit, perDay: 1_000_000, minuteMs: windowMs },
      {
        pets: numbers(machines * rows).map((pet) => ({ petId: BigInt(pet), quantity: 0n, status: 'available' })),
        fault: fault.killsFirst === true ? [FIRST, ANSWER] : [ANSWER],
        onRequest: () => onRequest(service.log.at(-1)!),
      },
    );
    const request = (matches: (request: LoggedRequest) => boolean): Promise<void> =>
      new Promise((resolve) => {
        onRequest = (each) => {
          if (matches(each)) resolve();
        };
      });
    const { address, inject } = await fault.open();
    const start = starter(fault, fleet, { ...service.env, PETSTORE_LEDGER: address });

    if (fault.killsFirst === true) {
      const first = start(0);
      await request(() => true);
      first.kill('SIGKILL');
    }
    const commands = numbers(machines).map((_, machine) => start(machine));
    const all = Promise.allSettled(commands.map(({ exited }) => exited));
    const isMidBurst = ({ remaining = 0 }: LoggedRequest): boolean =>
      service.log.length > limit && remaining > limit / 4 && remaining < (limit * 3) / 4;
    if (inject !== undefined) {
      await Promise.race([request(isMidBurst), all]);
      await inject();
    }
    const back = Date.now();
    const longestS = (fault.isForGood === true ? fleet.maxWaitS : LONGEST_S) + SLACK_S;
    const overdue = setTimeout(() => {
      for (const command of commands) command.kill('SIGKILL');
    }, longestS * 1_000);
    const ended = (await all).map((each) =>
      each.status === 'fulfilled' && each.value.code !== null ? each.value : undefined,
    );
    clearTimeout(overdue);
    return judge(fault, fleet, { log: service.log, ended, back });
  });
}

/** Returns what starts the import of a machine, which has a home of its own. */
function starter(fault: Fault, fleet: Fleet, env: Readonly<Record<string, string>>): (machine: number) => Running {
  const homes = numbers(fleet.machines).map(() => createHome());
  const wait = fault.isForGood === true ? ['--max-wait', `${fleet.maxWaitS}s`] : ['--wait'];
  return (machine) => {
    const home = homes[machine]!;
    const file = join(home.path, 'stock.csv');
    const pets = numbers(fleet.rows).map((row) => machine * fleet.rows + row);
    writeFileSync(file, ['petId,quantity', ...pets.map((pet) => `${pet},7`)].join('\n'));
    return startPetstore(['inventory', 'import', file, '--yes', '--quiet', '--timeout', TIMEOUT, ...wait], {
      home,
      env: {
        ...env,
        PETSTORE_LEDGER_LOST: fleet.lost,
        ...(fault.skewMs && { NODE_OPTIONS: `--import=${clockAhead(fault.skewMs(machine))}` }),
      },
      killAfterMs: 600_000,
    });
  };
}

/** A module that sets the wall clock of its process ahead. */
function clockAhead(ms: number): string {
  return `data:text/javascript,const{now}=Date;Date.now=()=>now()+${ms}`;
}

interface Witnessed {
  readonly log: readonly LoggedRequest[];
  readonly ended: Seen['ended'];
  readonly back: number;
}

function judge({ name, isForGood = false }: Fault, fleet: Fleet, { log, ended, back }: Witnessed): Seen {
  const requests = log.map((each) => ({ ...each, came: each.at - each.ms, machine: machineOf(each, fleet) }));
  // A strike: a request that arrives inside a wait that an answer has named, to its own machine where the window is shared.
  const strikes = requests.filter(({ came, machine }) =>
    requests.some(
      (wait) =>
        came > wait.at &&
        came < wait.at + (wait.retryAfter ?? 0) * 1_000 &&
        (fleet.lost === 'hold' || wait.machine === machine),
    ),
  );
  const done = requests.filter(({ status, method }) => status === 200 && method === 'PATCH');
  /** From Redis's return until every machine that still had rows has sent one; infinite if one never did. */
  const again = numbers(fleet.machines).map((_, machine) => {
    const own = done.filter((each) => each.machine === machine);
    if (own.length === fleet.rows && own.every(({ came }) => came <= back)) return 0;
    return (own.find(({ came }) => came > back)?.came ?? Infinity) - back;
  });
  const rows = new Set(done.map(({ target }) => target)).size;
  // Who holds says why: Redis, or at its start another machine's first request. Who shares the window may be refused.
  const isFine = ({ code, stderr }: Finished): boolean =>
    code === 0 || (isForGood && code === 6 && (fleet.lost === 'share' || /Redis|still unanswered/.test(stderr)));
  const broken = {
    refused: name === 'none' && requests.some(({ status }) => status === 429),
    strikes: strikes.length > 0,
    banned: requests.some(({ status }) => status === 403),
    busy: ended.includes(undefined),
    exits: !ended.every((each) => each === undefined || isFine(each)),
    rows: !isForGood && rows < fleet.machines * fleet.rows,
    'together again': !isForGood && Math.max(...again) > AGAIN_S * 1_000,
  };
  return { ended, broken: Object.entries(broken).flatMap(([what, isBroken]) => (isBroken ? [what] : [])) };
}

/** Of a list, which each machine asks for at its start, nobody can tell. */
function machineOf({ target }: LoggedRequest, { rows }: Fleet): number | undefined {
  const [, pet] = /\/(\d+)$/.exec(target) ?? [];
  return pet === undefined ? undefined : Math.floor((Number(pet) - 1) / rows);
}

/** 1 to `count`. */
function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}
