/** A TCP relay between clients and a server that delays or loses answers, or cuts connections. */
import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback, onCleanup } from '../support/cleanup.ts';

export class Tap {
  /** Where new connections lead. */
  target: number;
  /** How late answers are, ms. */
  delayMs = 0;
  losesAnswers = false;
  port = 0;
  readonly #open = new Set<Socket>();

  private constructor(target: number) {
    this.target = target;
  }

  static async open(target: number): Promise<Tap> {
    const tap = new Tap(target);
    const server = createServer({ noDelay: true }, (client) => tap.#relay(client));
    tap.port = await listenOnLoopback(server);
    onCleanup(() => {
      tap.cut();
    });
    return tap;
  }

  /** Breaks all connections; new ones are made as before. */
  cut(): void {
    for (const socket of this.#open) socket.resetAndDestroy();
  }

  #relay(client: Socket): void {
    const server = connect({ port: this.target, host: '127.0.0.1', noDelay: true });
    const pair = [client, server] as const;
    for (const socket of pair) {
      this.#open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#open.delete(socket);
        for (const each of pair) each.destroy();
      });
    }
    client.on('data', (piece) => server.write(piece));
    let last = 0;
    server.on('data', (piece) => {
      if (this.losesAnswers) return;
      // None overtakes an earlier one when the delay changes.
      last = Math.max(last, performance.now() + this.delayMs);
      const wait = last - performance.now();
      if (wait <= 0) client.write(piece);
      else setTimeout(() => client.destroyed || client.write(piece), wait);
    });
  }
}
