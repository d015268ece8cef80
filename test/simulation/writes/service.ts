/**
 * The service of a simulation of writes: stores quantities, loses answers, fails, and keeps the log by which promises
 * are checked. Another client, independent of petstore, sets pets too, preferably at the worst moment.
 */
import { HttpFailure, type HttpReply, type HttpRequest, type Random } from '../../../src/ports.ts';
import { START } from '../../support/virtual-clock.ts';
import { connectionReset } from '../process.ts';
import type { SimulatedTime } from '../time.ts';
import type { Scenario } from './scenario.ts';

/** A value that a pet had, and where it came from. Versions of a pet are numbered from 0. */
export interface Version {
  readonly quantity: bigint;
  readonly at: number;
  readonly by: 'foreign' | Write;
}

/** A PATCH that left a process. Times in ms of the simulation. */
export interface Write {
  readonly process: number;
  readonly pet: bigint;
  readonly quantity: bigint;
  readonly sentAt: number;
  /** When it arrived, or was lost on the way. */
  decidedAt: number;
  /** The version that it met; absent: it never arrived. */
  found?: number;
  /** Whether the service stored it. */
  isApplied: boolean;
  /** What the process was answered, and when; absent: nothing, or only that the connection broke. */
  answer?: { readonly at: number; readonly status: number; readonly isSound: boolean };
}

/** What a process was shown of one pet: by a list, or by the answer to a write. */
export interface Reading {
  readonly process: number;
  readonly pet: bigint;
  readonly version: number;
  readonly producedAt: number;
  readonly shownAt: number;
  readonly isList: boolean;
}

/** A process, as far as the network is concerned. */
export interface Client {
  readonly number: number;
  /** True while it can still receive an answer. */
  isAlive(): boolean;
  /** Something has become of a request: the process may die or be stopped now, or soon. */
  happened(): void;
}

type Fault = 'lost-before' | 'lost-after' | 'silent-before' | 'silent-after' | 'failed-before' | 'failed-after';
const FAULTS: readonly (Fault | 'broken')[] = [
  'lost-before',
  'lost-after',
  'silent-before',
  'silent-after',
  'failed-before',
  'failed-after',
  'broken',
];
const STATUSES = [500, 502, 503, 504];
const RETRY_AFTER_S = [1, 5, 20, 120];

export class WrittenService {
  readonly writes: Write[] = [];
  readonly readings: Reading[] = [];
  readonly versions = new Map<bigint, Version[]>();
  readonly #time: SimulatedTime;
  readonly #random: Random;
  readonly #scenario: Scenario;
  /** Of the values that the other client sets: none is next to another one. */
  #foreign = 1_000_000;
  isCalm = false;
  /** Called when a process has been answered. */
  onAnswer: () => void = () => undefined;

  constructor(time: SimulatedTime, random: Random, scenario: Scenario) {
    this.#time = time;
    this.#random = random;
    this.#scenario = scenario;
    for (let pet = 1n; pet <= BigInt(scenario.pets); pet++) {
      this.versions.set(pet, [{ quantity: this.#number(10, 999), at: 0, by: 'foreign' }]);
    }
  }

  quantity(pet: bigint): bigint {
    return this.versions.get(pet)!.at(-1)!.quantity;
  }

  /** Sends a request whose bytes have left; resolves as the process sees it. */
  send(request: HttpRequest, client: Client): Promise<HttpReply> {
    const { signal, timeoutMs, url } = request;
    const { promise, resolve, reject } = Promise.withResolvers<HttpReply>();
    let isOver = false;
    const end = (settle: () => void): void => {
      signal?.removeEventListener('abort', abort);
      if (!isOver && client.isAlive()) settle();
      isOver = true;
    };
    const abort = (): void => end(() => reject(broken(url, 'aborted')));
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort, { once: true });
    const lose = (ms: number, failure: HttpFailure): void => {
      this.#time.after(ms, () => {
        end(() => reject(failure));
        client.happened();
      });
    };
    const fault = this.#fault();
    const write = request.method === 'PATCH' ? this.#note(request, client) : undefined;
    const travelMs = this.#between(5, 60);
    this.#time.after(travelMs, () => {
      if (write !== undefined) write.decidedAt = this.#time.now;
      const isStored = fault !== 'lost-before' && fault !== 'silent-before';
      const answer = isStored ? this.#answer(request, fault, write) : undefined;
      this.#provoke(write?.pet);
      client.happened();
      const answerMs = this.#chance(this.#scenario.slow) ? this.#between(100, 20_000) : this.#between(5, 60);
      if (fault?.startsWith('lost') === true) return lose(answerMs, connectionReset(url));
      if (answer === undefined || fault?.startsWith('silent') === true || travelMs + answerMs > timeoutMs) {
        return lose(timeoutMs - travelMs, broken(url, 'response-timeout'));
      }
      this.#time.after(answerMs, () => {
        end(() => resolve(this.#deliver(answer, client, write)));
        if (!this.isCalm) this.onAnswer();
        this.#provoke(write?.pet);
        client.happened();
      });
    });
    return promise;
  }

  /** Another client sets a pet, now. */
  setAsForeign(pet: bigint): void {
    this.#foreign += 10;
    this.#store(pet, BigInt(this.#foreign), 'foreign');
  }

  #note({ url, body = '' }: HttpRequest, client: Client): Write | undefined {
    const pet = this.#petOf(url);
    const quantity = quantityIn(String(body));
    if (pet === undefined || quantity === undefined) return undefined;
    const write: Write = {
      process: client.number,
      pet,
      quantity,
      sentAt: this.#time.now,
      decidedAt: Number.POSITIVE_INFINITY,
      isApplied: false,
    };
    this.writes.push(write);
    return write;
  }

  #answer({ method, url }: HttpRequest, fault: Fault | 'broken' | undefined, write: Write | undefined): Answer {
    const isFailed = fault?.startsWith('failed') === true;
    if (write !== undefined) {
      write.found = this.versions.get(write.pet)!.length - 1;
      write.isApplied = fault !== 'failed-before';
      if (write.isApplied) this.#store(write.pet, write.quantity, write);
    }
    const producedAt = this.#time.now;
    if (isFailed)
      return { ...failed(pick(STATUSES, this.#random)), producedAt, shown: new Map(), retry: this.#retry() };
    if (method === 'GET' && url.pathname.endsWith('/inventory')) {
      const shown = new Map([...this.versions].map(([pet, { length }]) => [pet, length - 1]));
      const items = [...shown.keys()].map((pet) => this.#item(pet));
      const body = fault === 'broken' ? '[{"petId":1,' : `[${items.join(',')}]`;
      return { status: 200, body, producedAt, shown: fault === 'broken' ? new Map() : shown };
    }
    if (method === 'PATCH' && write !== undefined) {
      const shown = new Map([[write.pet, this.versions.get(write.pet)!.length - 1]]);
      if (fault !== 'broken') return { status: 200, body: this.#item(write.pet), producedAt, shown };
      return { status: 200, ...this.#brokenBody(), producedAt, shown: new Map() };
    }
    const status = this.#petOf(url) === undefined ? 404 : 400;
    return { ...failed(status), producedAt, shown: new Map() };
  }

  #deliver(answer: Answer, { number }: Client, write: Write | undefined): HttpReply {
    const { status, shown, producedAt } = answer;
    const at = this.#time.now;
    if (write !== undefined) write.answer = { at, status, isSound: status === 200 && shown.size > 0 };
    for (const [pet, version] of shown) {
      this.readings.push({ process: number, pet, version, producedAt, shownAt: at, isList: write === undefined });
    }
    const headers = {
      date: new Date(START + at).toUTCString(),
      'content-type': 'application/json',
      'x-ratelimit-limit': '600',
      'x-ratelimit-remaining': '590',
      'x-ratelimit-reset': `${Math.floor((START + at) / 1_000) + 60}`,
      ...(answer.retry !== undefined && { 'retry-after': `${answer.retry}` }),
    };
    const body = answer.isCut === true ? cutBody(answer.body) : [Buffer.from(answer.body)];
    return { status, headers: new Map(Object.entries(headers).map(([name, value]) => [name, [value]])), body };
  }

  /** With a certain chance, the other client sets the pet within the next moments, or the next half minute. */
  #provoke(pet: bigint | undefined): void {
    if (!this.#chance(this.#scenario.foreign)) return;
    const target = pet ?? BigInt(1 + Math.floor(this.#random() * this.versions.size));
    this.#time.after(30_000 ** this.#random(), () => {
      if (!this.isCalm) this.setAsForeign(target);
    });
  }

  #store(pet: bigint, quantity: bigint, by: Version['by']): void {
    this.versions.get(pet)!.push({ quantity, at: this.#time.now, by });
  }

  #brokenBody(): { readonly body: string; readonly isCut?: true } {
    const body = pick(['', '{}', 'Thank you.', '{"petId":1,"quantity":0,"status":"sold"}', '{"petId":'], this.#random);
    return body === '{"petId":' ? { body, isCut: true } : { body };
  }

  #item(pet: bigint): string {
    return `{"petId":${pet},"quantity":${this.quantity(pet)},"status":"available"}`;
  }

  #petOf(url: URL): bigint | undefined {
    const [, digits] = /\/inventory\/(\d+)$/.exec(url.pathname) ?? [];
    return digits !== undefined && this.versions.has(BigInt(digits)) ? BigInt(digits) : undefined;
  }

  #fault(): Fault | 'broken' | undefined {
    return this.#chance(this.#scenario.fault) ? pick(FAULTS, this.#random) : undefined;
  }

  #retry(): number | undefined {
    return this.#random() < 0.5 ? pick(RETRY_AFTER_S, this.#random) : undefined;
  }

  #chance(chance: number): boolean {
    return !this.isCalm && this.#random() < chance;
  }

  #between(least: number, most: number): number {
    return least + (most - least) * this.#random();
  }

  #number(least: number, most: number): bigint {
    return BigInt(Math.floor(this.#between(least, most)));
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
  /** The body breaks off. */
  readonly isCut?: true;
  readonly producedAt: number;
  /** Which version of which pets a reader of the body comes to know. */
  readonly shown: ReadonlyMap<bigint, number>;
  /** Retry-After, s. */
  readonly retry?: number | undefined;
}

export function pick<T>(from: readonly T[], random: Random): T {
  return from[Math.floor(random() * from.length)]!;
}

function failed(status: number): { status: number; body: string } {
  return { status, body: JSON.stringify({ code: 'no', message: 'No.', status }) };
}

function quantityIn(body: string): bigint | undefined {
  const [, digits] = /^\{"quantity":\s*(-?\d+)\}$/.exec(body) ?? [];
  return digits === undefined ? undefined : BigInt(digits);
}

async function* cutBody(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
  throw broken(new URL('https://pets.example'), 'body-cut');
}

function broken({ host }: URL, phase: 'aborted' | 'response-timeout' | 'body-cut'): HttpFailure {
  return new HttpFailure({ phase, mayHaveBeenSent: true, peer: host, code: phase, detail: phase });
}
