/** The Redis port over @redis/client: one connection, no reconnection, no queue, an answer in time or none. */
import { createClient } from '@redis/client';
import { type Redis, RedisFailure } from '../ports.ts';
import { CHECKED } from './certificates.ts';
import { inTime } from './in-time.ts';

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
  // Errors are reported by the call that they affect.
  client.on('error', () => undefined);
  const answered = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await inTime({ timeoutMs: PATIENCE_MS }, () => new Error(`no answer within ${PATIENCE_MS} ms`), work);
    } catch (error) {
      client.destroy();
      throw new RedisFailure(error);
    }
  };
  await answered(() => client.connect());
  return {
    run: async (script, key, args) =>
      String(await answered<unknown>(() => client.eval(script, { keys: [key], arguments: [...args] }))),
    close: () => {
      if (client.isOpen) client.destroy();
    },
  };
}
