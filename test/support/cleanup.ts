/** Undoes what a test created when it ends, passed or failed, in reverse order. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { AddressInfo, Server, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

type Undo = () => void | Promise<void>;

const part = new AsyncLocalStorage<Undo[]>();

/** Registers a cleanup. Outside a test (in `beforeAll`, say) it does nothing: the caller closes what it opened. */
export function onCleanup(undo: Undo): void {
  const undos = part.getStore();
  if (undos !== undefined) {
    undos.push(undo);
    return;
  }
  try {
    onTestFinished(undo);
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('inside a test'))) throw error;
  }
}

/** Has a server listen on loopback until the test ends, and its connections with it. Resolves to its port. */
export async function listenOnLoopback(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onCleanup(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** Runs a part of a test or of a script, and undoes what that created when it ends or the process exits. */
export async function withCleanup<T>(work: () => Promise<T>): Promise<T> {
  const undos: Undo[] = [];
  const onExit = (): void => {
    for (const undo of undos.reverse()) void undo();
  };
  process.once('exit', onExit);
  try {
    return await part.run(undos, work);
  } finally {
    process.off('exit', onExit);
    for (const undo of undos.reverse()) await undo();
  }
}
