/** Identifies who has a request under way, across processes, PID namespaces and machines that share a state folder. */
import type { Machine } from '../ports.ts';

/** Begins a reservation's id, such as `process 4242@1f3a.4026531836/`. */
export function ownerOf({ pid, processSpace }: Pick<Machine, 'pid' | 'processSpace'>): string {
  return `process ${pid}@${processSpace}`;
}

/** Returns the owner for people: `process 4242`. */
export function ownerName(id: string): string {
  return id.split(/[@/]/)[0] ?? id;
}

/** True where the owner is known to have died. One whose process ids mean nothing here is taken to be alive. */
export function isDeadOwner(id: string, machine: Pick<Machine, 'pid' | 'processSpace' | 'isAlive'>): boolean {
  const [, pid, space] = /^process (\d+)@([^/]*)\//.exec(id) ?? [];
  if (pid === undefined || space !== machine.processSpace || Number(pid) === machine.pid) return false;
  return !machine.isAlive(Number(pid));
}
