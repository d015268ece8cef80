/** The requests of one operation, which share a rate limit: how many may ask the gate, and in which order. */
import { Failure } from '../errors.ts';
import { reasonOf, type Clock } from '../ports.ts';
import type { Session } from '../session/connect.ts';
import type { Gate, RateLimit } from '../rate-limit/gate.ts';

/** Most requests of an operation that ask the gate at once: it then takes them together. */
const MOST_ASKING = 64;

export interface TurnOptions {
  readonly gate: Gate;
  readonly clock: Clock;
  /** The block of the key, whose end may be later than that of a window. */
  readonly block: Session['block'];
  /** Longest wait of a request, from its arrival, ms. */
  readonly maxWaitMs: number;
  /** Requests that only urgent ones may use. */
  readonly reserve: number;
}

export interface Claim {
  /** Who asks. */
  readonly client: string;
  readonly isUrgent: boolean;
  /** When the request arrived, on the monotonic clock. */
  readonly since: number;
  /** Aborts when the client is gone, with a Failure as its reason. */
  readonly signal: AbortSignal;
  /** Receives each wait, ms. */
  onWaited(ms: number): void;
}

interface Entry {
  start(): void;
}

export class Lane {
  inFlight = 0;
  private readonly options: TurnOptions;
  private readonly urgent = new FairQueue<Entry>();
  private readonly others = new FairQueue<Entry>();
  /** How many ask the gate now. */
  private readonly asking = { urgent: 0, others: 0 };
  private limits: RateLimit | undefined;
  /** The shortest time between two ends of a window, ms: as long as it lasts, once that is known. */
  private windowMs: number | undefined;

  constructor(options: TurnOptions) {
    this.options = options;
  }

  get waiting(): number {
    return this.urgent.size + this.others.size + this.asking.urgent + this.asking.others;
  }

  /** True within a window that an answer has named. */
  get isKnown(): boolean {
    return this.limits !== undefined && this.limits.resetAt > this.options.clock.now();
  }

  get isIdle(): boolean {
    return this.waiting + this.inFlight === 0;
  }

  /**
   * Resolves when the request may ask the gate; `askedInVain` or `sent` must follow.
   * @throws {Failure} `rate-limited`: it would wait, or has waited, longer than `leftMs`
   */
  async turn({ client, isUrgent, signal }: Claim, leftMs: number): Promise<void> {
    if (signal.aborted) throw reasonOf(signal);
    const least = this.leastWaitMs({ client, isUrgent });
    if (least > leftMs) throw this.tooLong(least);
    const queue = isUrgent ? this.urgent : this.others;
    if (queue.size === 0 && this.hasRoom(isUrgent)) {
      this.asking[isUrgent ? 'urgent' : 'others']++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const entry = {
        start: () => {
          end();
          resolve();
        },
      };
      const leave = (why: () => Error): void => {
        end();
        if (queue.remove(client, entry)) reject(why());
      };
      const onAbort = (): void => {
        leave(() => reasonOf(signal));
      };
      const cancel = this.options.clock.alarm(leftMs, () => {
        leave(() => this.tooLong(Math.max(1, this.leastWaitMs({ client, isUrgent }))));
      });
      const end = (): void => {
        cancel();
        signal.removeEventListener('abort', onAbort);
      };
      signal.addEventListener('abort', onAbort);
      queue.add(client, entry);
      this.startNext();
    });
  }

  askedInVain(isUrgent: boolean): void {
    this.asking[isUrgent ? 'urgent' : 'others']--;
    this.startNext();
  }

  sent(isUrgent: boolean): void {
    this.asking[isUrgent ? 'urgent' : 'others']--;
    this.inFlight++;
    this.startNext();
  }

  /** @param limits of this operation, by the answer; undefined: it does not tell */
  over(limits: RateLimit | undefined): void {
    this.inFlight--;
    this.learn(limits);
    this.startNext();
  }

  private learn(limits: RateLimit | undefined): void {
    if (limits === undefined) return;
    const moved = limits.resetAt - (this.limits?.resetAt ?? Number.POSITIVE_INFINITY);
    // An end that moves by less is the same one, read again.
    if (moved >= 1_000) this.windowMs = Math.min(moved, this.windowMs ?? moved);
    this.limits = limits;
  }

  leastWaitMs({ client, isUrgent }: Pick<Claim, 'client' | 'isUrgent'>): number {
    const { clock, reserve } = this.options;
    if (this.limits === undefined) return 0;
    const { limit, remaining, resetAt } = this.limits;
    const resetInMs = resetAt - clock.now();
    if (resetInMs <= 0) return 0;
    const kept = isUrgent ? 0 : reserve;
    const ahead =
      this.inFlight +
      this.asking.urgent +
      // Those that are not urgent leave the reserve to those that are.
      (isUrgent ? this.urgent.ahead(client) : this.asking.others + this.urgent.size + this.others.ahead(client));
    const over = ahead - Math.max(0, remaining - kept);
    if (over < 0) return 0;
    return resetInMs + Math.floor(over / Math.max(1, limit - kept)) * (this.windowMs ?? 0);
  }

  private startNext(): void {
    while (this.hasRoom(true) && this.startFrom(this.urgent)) this.asking.urgent++;
    while (this.hasRoom(false) && this.startFrom(this.others)) this.asking.others++;
  }

  /** Urgent ones also pass those that wait at the gate because only the reserve is left. */
  private hasRoom(isUrgent: boolean): boolean {
    const { urgent, others } = this.asking;
    return isUrgent ? urgent < this.room(0) : urgent + others < this.room(this.options.reserve);
  }

  private startFrom(queue: FairQueue<Entry>): boolean {
    const next = queue.take();
    next?.start();
    return next !== undefined;
  }

  /** Where nothing is known, one finds out. */
  private room(reserve: number): number {
    if (this.limits === undefined || !this.isKnown) return 1;
    return Math.max(1, Math.min(MOST_ASKING, this.limits.remaining - reserve - this.inFlight));
  }

  tooLong(waitMs: number): Failure<'rate-limited'> {
    const { clock, maxWaitMs } = this.options;
    const retryAt = clock.now() + waitMs;
    return new Failure('rate-limited', { why: 'window-spent', retryAt, waitMs, maxWaitMs, refusals: 0 });
  }
}

export class FairQueue<T> {
  /** The client whose turn it is comes first. */
  private readonly clients = new Map<string, T[]>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(client: string, entry: T): void {
    const entries = this.clients.get(client);
    if (entries === undefined) this.clients.set(client, [entry]);
    else entries.push(entry);
    this.count++;
  }

  take(): T | undefined {
    for (const [client, entries] of this.clients) {
      const entry = entries.shift();
      this.clients.delete(client);
      if (entries.length > 0) this.clients.set(client, entries);
      this.count--;
      return entry;
    }
    return undefined;
  }

  /** False where it has been taken already. */
  remove(client: string, entry: T): boolean {
    const entries = this.clients.get(client) ?? [];
    const at = entries.indexOf(entry);
    if (at < 0) return false;
    entries.splice(at, 1);
    if (entries.length === 0) this.clients.delete(client);
    this.count--;
    return true;
  }

  /** Returns how many entries would be taken before the next one of that client. */
  ahead(client: string): number {
    const own = this.clients.get(client)?.length ?? 0;
    let sum = own;
    // Clients before it in the round have one turn more than it has entries, those after it one for each.
    let turns = own + 1;
    for (const [name, { length }] of this.clients) {
      if (name === client) turns = own;
      else sum += Math.min(length, turns);
    }
    return sum;
  }
}
