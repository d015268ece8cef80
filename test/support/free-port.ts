/** Finds a port for third-party servers that cannot choose one themselves. */
import { once } from 'node:events';
import { createServer } from 'node:net';

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
