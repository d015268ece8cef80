/** Reports the figures of the benchmarks: Markdown, the median and the spread. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

export const STANDALONE = fileURLToPath(new URL('../../standalone/petstore', import.meta.url));

/** With --help, prints the comment at the start of a script, and ends. @param script its URL */
export function answerHelp(script: string): void {
  if (!process.argv.includes('--help') && !process.argv.includes('-h')) return;
  const [, text = ''] = /^\/\*\*\n(.*?)\n \*\//s.exec(readFileSync(new URL(script), 'utf8')) ?? [];
  console.log(text.replace(/^ \* ?/gm, ''));
  process.exit();
}

/** Reads options with a value, given with their defaults, and `--assert`. */
export function readOptions<Name extends string>(
  defaults: Readonly<Record<Name, string>>,
): Record<Name, string> & { readonly assert: boolean } {
  const options: Record<string, { type: 'string'; default: string }> = {};
  for (const [name, value] of Object.entries<string>(defaults)) options[name] = { type: 'string', default: value };
  const { values } = parseArgs({ options: { ...options, assert: { type: 'boolean', default: false } } });
  return values as ReturnType<typeof readOptions<Name>>;
}

/**
 * Measures the contenders in turns, so that a machine that slows down affects all of them. The first round, which warms
 * the machine up, does not count.
 */
export async function alternate<Contender, Run>(
  contenders: readonly Contender[],
  rounds: string,
  measure: (contender: Contender) => Run | Promise<Run>,
): Promise<Map<Contender, Run[]>> {
  const runs = new Map<Contender, Run[]>(contenders.map((each) => [each, []]));
  for (let round = -1; round < Number(rounds); round++) {
    for (const each of contenders) {
      const run = await measure(each);
      if (round >= 0) runs.get(each)!.push(run);
    }
  }
  return runs;
}

export interface Run {
  readonly seconds: number;
  readonly peakMb: number;
  /** When the first byte of its output came. */
  readonly firstSeconds: number;
}

/** Runs a command to its end. */
export async function runMeasured(
  [program, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv,
): Promise<Run> {
  const from = process.hrtime.bigint();
  const since = (): number => Number(process.hrtime.bigint() - from) / 1e9;
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const arrivals: number[] = [];
  let stderr = '';
  let peakMb = Number.NaN;
  const look = setInterval(() => (peakMb = peakOf(child.pid!) ?? peakMb), 5);
  child.stdout.once('data', () => arrivals.push(since())).resume();
  child.stderr.on('data', (piece: Buffer) => (stderr += piece.toString()));
  const [code] = await closed;
  const seconds = since();
  clearInterval(look);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
  return { peakMb, seconds, firstSeconds: arrivals[0] ?? seconds };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** `30.1 – 47.9` */
export function spread(values: readonly number[], digits: number): string {
  return `${Math.min(...values).toFixed(digits)} – ${Math.max(...values).toFixed(digits)}`;
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Returns the most memory that a process has held so far, in MB; undefined once it has ended. */
export function peakOf(pid: number): number | undefined {
  return memoryOf(pid, 'VmHWM');
}

/** Returns the memory that a process holds now, in MB; undefined once it has ended. */
export function residentOf(pid: number): number | undefined {
  return memoryOf(pid, 'VmRSS');
}

/** `line`: of proc_pid_status(5). */
function memoryOf(pid: number, line: 'VmHWM' | 'VmRSS'): number | undefined {
  try {
    const size = new RegExp(`^${line}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return size === undefined ? undefined : Number(size) / 1_024;
  } catch {
    return undefined;
  }
}

/** Whether a program of that name, or a file, can be run here. */
export function isThere(program: string): boolean {
  return program.includes('/') ? existsSync(program) : versionOf(program) !== undefined;
}

/** As the program says it itself, shortened to the number. */
export function versionOf(program: string): string | undefined {
  const { error, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return error === undefined ? /\d+(\.\d+)+/.exec(stdout)?.[0] : undefined;
}
