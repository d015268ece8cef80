/**
 * Generates the load of test/bench/proxy.ts in a separate process: each connection sends its next request when the
 * previous one is answered, over a bare socket to use little CPU. Prints a `Measured` as JSON.
 */
import { connect } from 'node:net';

export interface Load {
  readonly port: number;
  readonly method: 'GET' | 'PATCH';
  readonly path: string;
  readonly connections: number;
  /** How many requests there are; of `pets` each PATCH is of another one. */
  readonly requests: number;
  /** How long a connection rests after each answer, ms. */
  readonly restMs: number;
}

export interface Measured {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

const PETS = 1_000;
const HEAD_END = '\r\n\r\n';

async function run({ port, method, path, connections, requests, restMs }: Load): Promise<Measured> {
  const times: number[] = [];
  let begun = 0;
  const bytes = (): Buffer => {
    const pet = method === 'PATCH' ? `/${(begun % PETS) + 1}` : '';
    const body = method === 'PATCH' ? '{"quantity":12}' : '';
    const head = [
      `${method} ${path}${pet} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      'Authorization: Bearer bench-key',
      'User-Agent: bench',
      'Accept: application/json',
      ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`]),
    ];
    return Buffer.from(`${head.join('\r\n')}${HEAD_END}${body}`);
  };
  const client = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, noDelay: true });
      let since = 0;
      let held: Buffer = Buffer.alloc(0);
      const next = (): void => {
        if (begun >= requests) {
          socket.end();
          resolve();
          return;
        }
        begun++;
        since = performance.now();
        socket.write(bytes());
      };
      socket.once('connect', next).on('data', (chunk) => {
        held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
        const end = wholeLength(held);
        if (end === undefined || held.length < end) return;
        times.push(performance.now() - since);
        held = Buffer.alloc(0);
        if (restMs === 0) next();
        else setTimeout(next, restMs);
      });
      socket.once('error', reject);
    });
  const started = performance.now();
  await Promise.all(Array.from({ length: connections }, client));
  const seconds = (performance.now() - started) / 1_000;
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN;
  return { perSecond: times.length / seconds, p50: at(0.5), p99: at(0.99) };
}

/** Returns how long a response is, or undefined before its head is there. */
function wholeLength(response: Buffer): number | undefined {
  const end = response.indexOf(HEAD_END);
  if (end < 0) return undefined;
  const head = response.toString('latin1', 0, end);
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  if (!head.startsWith('HTTP/1.1 200') || length === undefined) throw new Error(`not as expected: ${head}`);
  return end + HEAD_END.length + Number(length);
}

console.log(JSON.stringify(await run(JSON.parse(process.argv[2] ?? '') as Load)));
