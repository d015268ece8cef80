/** The Redis port over @redis/client: one connection, no reconnection, no queue, an answer in time or none. */
import { createClient } from '@redis/client';
import { type Redis, RedisFailure } from '../ports.ts';
import { CHECKED } from './certificates.ts';

/** A ledger that answers later than that is lost, ms. */
const PATIENCE_MS = 2_000;

/** @throws {RedisFailure} */
export async function openRedis(url: string): Promise<Redis> {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    socket: {
      connectTimeout: PATIENCE_MS,
      reconnectStrategy: false,
      ...(url.startsWith('rediss:') && { tls: true as const, ...CHECKED }),
    },
  });
  // What goes wrong is told by the call that meets it.
  client.on('error', () => undefined);
  const inTime = async <T>(work: Promise<T>): Promise<T> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new RedisFailure(new Error(`no answer within ${PATIENCE_MS} ms`)));
      }, PATIENCE_MS);
    });
    try {
      return await Promise.race([work, late]);
    } catch (error) {
      client.destroy();
      throw error instanceof RedisFailure ? error : new RedisFailure(error);
    } finally {
      clearTimeout(timer);
      work.catch(() => undefined);
    }
  };
  await inTime(client.connect());
  return {
    run: async (script, key, args) =>
      String(await inTime<unknown>(client.eval(script, { keys: [key], arguments: [...args] }))),
    close: () => {
      if (client.isOpen) client.destroy();
    },
  };
}
