/** Ports of other programs: finds one for those that cannot choose one themselves, and tells whether they listen. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** Below the ports that systems give to those that ask for any: no other test is given one of them meanwhile. */
const FIRST = 10_000;
/** Each process of the tests has as many of its own. */
const EACH = 2_000;
const own = FIRST + EACH * (Number(process.env.VITEST_POOL_ID ?? 0) % 11);
let next = Math.floor(Math.random() * EACH);

export async function freePort(): Promise<number> {
  const port = own + (next++ % EACH);
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return freePort();
  }
  server.close();
  await once(server, 'close');
  return port;
}

/** Whether connections are accepted there, on loopback. */
export async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}
