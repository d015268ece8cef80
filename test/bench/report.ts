/** Reports the figures of the benchmarks: Markdown, the median and the spread. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const STANDALONE = fileURLToPath(new URL('../../standalone/petstore', import.meta.url));

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
