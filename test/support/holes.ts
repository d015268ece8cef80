/** Addresses on loopback where no service answers. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { startPetstore } from './binary.ts';
import { listenOnLoopback, onCleanup } from './cleanup.ts';

/** Returns a port that refuses connections: our own outgoing connection uses it, so no process can listen there. */
export async function refusedPort(): Promise<number> {
  const socket = connect(await listenOnLoopback(createServer()), '127.0.0.1');
  await once(socket, 'connect');
  onCleanup(() => void socket.destroy());
  return socket.localPort ?? 0;
}

/** Listens, then blocks its event loop, so that it never accepts a connection. */
const SLEEPER = `
const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  require('node:fs').writeSync(1, server.address().port + '\\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;

/** Returns a port where connect() neither succeeds nor fails: its queue is full (Linux drops the SYN). */
export async function blackhole(): Promise<number> {
  const sleeper = startPetstore(['-e', SLEEPER], { command: [process.execPath] });
  await sleeper.waitFor(/\n/, 'stdout');
  const port = Number(sleeper.stdout);
  const fillers: Socket[] = [];
  const fill = (): Socket => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    fillers.push(socket);
    return socket;
  };
  // A backlog of n holds n + 1 connections.
  await once(fill(), 'connect');
  await once(fill(), 'connect');
  onCleanup(() => {
    for (const socket of fillers) socket.destroy();
  });
  return port;
}
