/**
 * Simulated time: a queue of due wake-ups, in order. Before time advances, the event loop becomes idle, so that
 * everything a woken task does without sleeping is finished. The same seed gives the same run.
 */
export class SimulatedTime {
  /** Ms since the simulation began. */
  now = 0;
  readonly #due: Event[] = [];
  #scheduled = 0;

  /** Calls `wake` after `ms`; those due at the same instant in the order of their scheduling. */
  after(ms: number, wake: () => void): void {
    // Rounding must not keep time from advancing where a process sleeps until an instant.
    const event = { at: this.now + (ms > 0 ? Math.max(SHORTEST_MS, ms) : 0), order: this.#scheduled++, wake };
    // A binary heap: the simulation spends most of its time here.
    const heap = this.#due;
    let i = heap.push(event) - 1;
    for (let parent = (i - 1) >> 1; i > 0 && isBefore(event, heap[parent]!); parent = (i - 1) >> 1) {
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = event;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Until `isOver`, nothing is due any more, or `endAt` has come. */
  async run(isOver: () => boolean, endAt: number): Promise<void> {
    await atRest();
    while (!isOver()) {
      const event = this.#next();
      if (event === undefined || event.at > endAt) return;
      this.now = event.at;
      event.wake();
      await atRest();
    }
  }

  #next(): Event | undefined {
    const heap = this.#due;
    const first = heap[0];
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return first;
    let i = 0;
    for (let child = 1; child < heap.length; child = 2 * i + 1) {
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
    return first;
  }
}

const SHORTEST_MS = 0.001;

interface Event {
  readonly at: number;
  readonly order: number;
  wake(): void;
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** Resolves once all that can run without time passing has run. */
function atRest(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
