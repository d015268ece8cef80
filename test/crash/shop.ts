/**
 * A service on loopback that logs the quantity that each write replaced. Another client, independent of petstore, sets
 * its pets too.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { Reading, Version, Write } from '../simulation/writes/service.ts';
import { listenOnLoopback } from '../support/cleanup.ts';
import type { Home } from '../support/home.ts';
import { runIn } from '../support/in-process.ts';
import { JSON_TYPE, plentyLeft } from '../support/served.ts';
import { staging } from '../support/staging.ts';
import { createTestContext } from '../support/test-context.ts';
import { START } from '../support/virtual-clock.ts';

/** A run as `inventory runs -o json` has it. */
export interface RunRow {
  readonly run: number;
  readonly state: string;
  readonly done: number;
  readonly left: number;
}

export class Shop {
  readonly writes: Write[] = [];
  readonly readings: Reading[] = [];
  readonly versions = new Map<bigint, Version[]>();
  /** Which process is asking: they come one after another. */
  process = 0;
  baseUrl = '';
  /** Far from all that is imported. What differs from it by a row of a delivery is never imported. */
  #foreign = 20_000_000;
  #connections = 0;
  #onIdle: () => void = () => undefined;

  constructor(pets: number) {
    for (let pet = 1n; pet <= BigInt(pets); pet++)
      this.versions.set(pet, [{ quantity: 10n, at: now(), by: 'foreign' }]);
  }

  async open(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response));
    server.on('connection', (socket) => {
      this.#connections++;
      socket.once('close', () => {
        if (--this.#connections === 0) this.#onIdle();
      });
    });
    this.baseUrl = `http://127.0.0.1:${await listenOnLoopback(server)}/v1`;
  }

  /** Resolves once what a dead process has sent is answered, so that the next one is not taken for it. */
  async idle(): Promise<void> {
    if (this.#connections > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  /** The other client sets a pet. */
  setAsForeign(pet: bigint): void {
    this.#foreign += 10;
    this.versions.get(pet)!.push({ quantity: BigInt(this.#foreign), at: now(), by: 'foreign' });
  }

  /** The runs of a machine, newest first. */
  runs(home: Home): Promise<readonly RunRow[]> {
    return this.ask(home, ['runs', '--limit', '1000000']);
  }

  /** Asks what a machine has on its disk, without a process. */
  async ask<T>(home: Home, words: readonly string[]): Promise<readonly T[]> {
    const context = createTestContext({ home, env: staging(this.baseUrl) });
    const { code, stdout, stderr } = await runIn(context, 'inventory', ...words, '-o', 'json');
    if (code !== 0) throw new Error(`${words.join(' ')}: exit ${code}, ${stderr}`);
    return JSON.parse(stdout) as T[];
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { process } = this;
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Uint8Array>)).toString();
    const pet = BigInt(/\/inventory\/(\d+)$/.exec(request.url ?? '')?.[1] ?? 0);
    const write = request.method === 'PATCH' ? this.#write(process, pet, body) : undefined;
    const shown = write === undefined ? [...this.versions.keys()] : [pet];
    const at = now();
    const items = shown.map((each) => this.#show(each, { process, at, isList: write === undefined }));
    response.writeHead(200, { ...JSON_TYPE, ...plentyLeft() });
    response.end(write === undefined ? `[${items.join(',')}]` : items[0]);
    if (write !== undefined) write.answer = { at: now(), status: 200, isSound: true };
  }

  #write(process: number, pet: bigint, body: string): Write {
    const versions = this.versions.get(pet)!;
    const { quantity } = JSON.parse(body) as { quantity: number };
    const at = now();
    const write: Write = {
      process,
      pet,
      quantity: BigInt(quantity),
      sentAt: at,
      decidedAt: at,
      found: versions.length - 1,
      isApplied: true,
    };
    this.writes.push(write);
    versions.push({ quantity: write.quantity, at, by: write });
    return write;
  }

  #show(pet: bigint, { process, at, isList }: { process: number; at: number; isList: boolean }): string {
    const versions = this.versions.get(pet)!;
    this.readings.push({ process, pet, version: versions.length - 1, producedAt: at, shownAt: at, isList });
    return `{"petId":${pet},"quantity":${versions.at(-1)!.quantity},"status":"available"}`;
  }
}

const DYING = fileURLToPath(new URL('./die-at-step.js', import.meta.url));

/** Variables with which a command dies at this of its steps of transactions and connections. */
export function diesAt(step: number): Record<string, string> {
  return { NODE_OPTIONS: `--import=${DYING}`, PETSTORE_DIES_AT: `${1 + Math.floor(step)}` };
}

/** In the terms of the simulation. */
export function now(): number {
  return Date.now() - START;
}
