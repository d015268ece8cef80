/**
 * A Clock with virtual time. It moves only when a test advances it or, with `autoAdvance`, when a caller
 * sleeps and nothing else happens. All times are in ms.
 */
import type { Clock } from '../../src/ports.ts';

export interface VirtualClockOptions {
  /** Wall clock at the start, epoch ms. */
  readonly now?: number;
  /** Monotonic clock at the start. */
  readonly monotonic?: number;
  /**
   * Jumps to the next due time once a caller sleeps and nothing happened in a turn of the event loop.
   * Alarms alone never make time pass: a timeout must not beat an answer that is arriving on a socket.
   */
  readonly autoAdvance?: boolean;
}

interface Waiter {
  readonly due: number;
  readonly kind: 'sleep' | 'alarm';
  wake(): void;
}

/** 2026-03-02T14:03:20Z. */
export const START = Date.UTC(2026, 2, 2, 14, 3, 20);

export class VirtualClock implements Clock {
  #wall: number;
  #monotonic: number;
  readonly #auto: boolean;
  readonly #waiters = new Set<Waiter>();
  /** Called at the next sleep. */
  readonly #watchers = new Set<() => void>();
  #holds = 0;
  #advancing = 0;
  #news = 0;
  #looking = false;

  constructor({ now = START, monotonic = 1_000_000, autoAdvance = false }: VirtualClockOptions = {}) {
    this.#wall = now;
    this.#monotonic = monotonic;
    this.#auto = autoAdvance;
  }

  /** Returns whole ms, like Date.now(). */
  now(): number {
    return Math.floor(this.#wall);
  }

  monotonic(): number {
    return this.#monotonic;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) throw signal.reason;
    if (!(ms > 0)) return;
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        this.#remove(waiter);
        reject(signal?.reason as Error);
      };
      const waiter: Waiter = {
        due: this.#monotonic + ms,
        kind: 'sleep',
        wake() {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.#add(waiter);
    });
  }

  turn(): Promise<void> {
    return this.during(() => new Promise((resolve) => setImmediate(resolve)));
  }

  alarm(ms: number, ring: () => void): () => void {
    const waiter: Waiter = { due: this.#monotonic + Math.max(ms, 0), kind: 'alarm', wake: ring };
    this.#add(waiter);
    return () => {
      this.#remove(waiter);
    };
  }

  /**
   * Lets `ms` pass. Wakes waiters in the order of their due times, those due together at once, and gives the
   * work they start its time too, including further sleeps. Resolves when nothing happens any more.
   */
  async advance(ms: number): Promise<void> {
    this.#advancing += 1;
    try {
      await this.#rest();
      const target = this.#monotonic + ms;
      for (let due = this.#nextDue(); due !== undefined && due <= target; due = this.#nextDue()) {
        this.#moveTo(due);
        this.#wakeDue();
        await this.#rest();
      }
      this.#moveTo(target);
    } finally {
      this.#advancing -= 1;
      this.#look();
    }
  }

  /** Steps the wall clock, like a user or NTP. Does not affect the monotonic clock and sleepers. */
  stepWall(ms: number): void {
    this.#wall += ms;
  }

  /**
   * Suspends the machine for `ms`, so that timers do not run. `monotonic: 'stops'` is Linux and macOS; with
   * `'runs'`, as on Windows, overdue waiters wake late, at the end.
   */
  suspend(ms: number, monotonic: 'stops' | 'runs' = 'stops'): void {
    this.#wall += ms;
    if (monotonic === 'stops') return;
    this.#monotonic += ms;
    this.#wakeDue();
  }

  /** Pauses `autoAdvance` until the returned function is called. */
  hold(): () => void {
    this.#holds += 1;
    let held = true;
    return () => {
      if (held) this.#holds -= 1;
      held = false;
      this.#look();
    };
  }

  /** Stops time during the work. */
  async during<T>(work: () => Promise<T> | T): Promise<T> {
    const release = this.hold();
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Remaining time of each alarm, shortest first. */
  get alarms(): readonly number[] {
    return [...this.#waiters]
      .filter(({ kind }) => kind === 'alarm')
      .map(({ due }) => due - this.#monotonic)
      .sort((a, b) => a - b);
  }

  /** Resolves once a caller sleeps. */
  async whenSleeping(): Promise<void> {
    if (!this.#isSleeping()) await new Promise<void>((tell) => this.#watchers.add(tell));
  }

  #isSleeping(): boolean {
    return [...this.#waiters].some(({ kind }) => kind === 'sleep');
  }

  #add(waiter: Waiter): void {
    this.#waiters.add(waiter);
    this.#news += 1;
    if (waiter.kind === 'sleep') for (const tell of this.#watchers) tell();
    this.#look();
  }

  #remove(waiter: Waiter): void {
    if (this.#waiters.delete(waiter)) this.#news += 1;
  }

  #nextDue(): number | undefined {
    return this.#waiters.size === 0 ? undefined : Math.min(...[...this.#waiters].map(({ due }) => due));
  }

  #moveTo(monotonic: number): void {
    const passed = Math.max(monotonic - this.#monotonic, 0);
    this.#monotonic += passed;
    this.#wall += passed;
  }

  #wakeDue(): void {
    const due = [...this.#waiters].filter((each) => each.due <= this.#monotonic).sort((a, b) => a.due - b.due);
    for (const waiter of due) {
      // An earlier waiter may have cancelled a later one.
      if (this.#waiters.delete(waiter)) waiter.wake();
    }
    this.#news += due.length;
  }

  /** Resolves after a turn of the event loop in which no waiter was added, woken or removed. */
  async #rest(): Promise<void> {
    let seen;
    do {
      seen = this.#news;
      await new Promise((resolve) => setImmediate(resolve));
    } while (seen !== this.#news);
  }

  #mayJump(): boolean {
    return this.#holds === 0 && this.#advancing === 0 && this.#isSleeping();
  }

  #look(): void {
    if (!this.#auto || this.#looking || !this.#mayJump()) return;
    this.#looking = true;
    void this.#rest().then(() => {
      this.#looking = false;
      if (!this.#mayJump()) return;
      this.#moveTo(this.#nextDue() ?? this.#monotonic);
      this.#wakeDue();
      this.#look();
    });
  }
}
