/** What a check is, and what came of it. */
import type { Evidence } from '../client/probe.ts';

export type Verdict = 'pass' | 'fail' | 'skip';

export interface Finding {
  readonly verdict: Verdict;
  /** What is wrong, or why it was not checked. */
  readonly problem?: string;
  readonly evidence?: Evidence;
}

export interface CheckFacts {
  /** For --only and --skip; never changes its meaning. */
  readonly id: string;
  readonly title: string;
  /** The part of the service specification that it rests on. */
  readonly clause: string;
}

export interface Checked extends CheckFacts, Finding {
  readonly ms: number;
}

export const PASS: Finding = { verdict: 'pass' };

export function fail(problem: string): Finding {
  return { verdict: 'fail', problem };
}

export function skip(problem: string): Finding {
  return { verdict: 'skip', problem };
}
