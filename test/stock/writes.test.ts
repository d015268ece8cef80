/**
 * Checks the promises about writes against a simulated service's log: whole commands of one machine are killed, stopped
 * and overtaken by another client at any moment. `npm run simulate:writes` replays a seed, and runs more.
 */
import { type ChildProcess, execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { scaled } from '../support/scale.ts';

/** Fewer show too little of what is rare. */
const SEEDS = Math.max(150, scaled(300));
const MAIN = fileURLToPath(new URL('../simulation/writes/main.ts', import.meta.url));
const LOWER = new URL('../../src/build/lower.ts', import.meta.url).href;

interface Findings {
  readonly broken: readonly { readonly seed: number; readonly rule: string; readonly text: string }[];
  readonly seen: Readonly<Record<string, number>>;
}

/** Begun once, in a process of its own: there nothing but simulated time passes while a module is imported again. */
let findings: Promise<Findings> | undefined;
let child: ChildProcess | undefined;

// A run that ends at the first failure leaves it behind otherwise.
afterAll(() => void child?.kill());

function simulated(): Promise<Findings> {
  const args = ['--disable-warning=ExperimentalWarning', '--import', LOWER, MAIN, '--seeds', `${SEEDS}`];
  return new Promise((resolve, reject) => {
    child = execFile(process.execPath, args, { maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (stdout.startsWith('{')) resolve(JSON.parse(stdout) as Findings);
      else reject(new Error(`the simulation failed: ${stderr}`, { cause: error }));
    });
  });
}

it.each([
  ['faults 100, 136, 139: a command that has read a pet overwrites nothing that it has not read', 'overwritten'],
  ['fault 137: what was answered is reported as applied, whatever came after', 'applied'],
  ['faults 138, 140: what was sent and not answered is never reported as not sent', 'not-sent'],
  ['fault 141: each write has a row in the history, and what is applied there was applied', 'history'],
  ['fault 90: what is to be added is added once', 'added'],
  ['every command ends, and finds no bug in itself', 'end'],
])(
  '%s',
  async (_promise, rule) => {
    const { broken } = await (findings ??= simulated());
    expect(broken.filter((each) => each.rule === rule)).toEqual([]);
  },
  300_000,
);

it('the simulated world is as hard as it claims to be', async () => {
  const { seen } = await (findings ??= simulated());
  expect(Object.entries(seen).filter(([, times]) => times < SEEDS / 20)).toEqual([]);
}, 300_000);
