/**
 * The terminals of test/soak/gateway.ts, in a separate process. Each has one connection, and reads the list in every
 * turn; in every third turn it also adds one to a pet, provided that the pet is unchanged, and retries until it
 * succeeds. Reads a `Load` as JSON from stdin, prints a `Done`.
 */
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'node:https';

export interface Load {
  readonly baseUrl: string;
  readonly ca: string;
  /** Of one terminal each. */
  readonly tokens: readonly string[];
  /** Turns with a rest of about `everyMs` before each, then some without any. */
  readonly turns: number;
  readonly everyMs: number;
  readonly hurriedTurns: number;
  /** Pets 1 to this one are changed. */
  readonly pets: number;
}

export interface Done {
  /** How often each status, or error, was the answer. */
  readonly answers: Readonly<Record<string, number>>;
  /** Changes that were acknowledged. */
  readonly changes: number;
  /** From the request to the end of its answer, ms: of the turns with a rest, without the first on each connection. */
  readonly times: readonly number[];
}

type Answer = readonly [status: number, body: string];

async function run({ baseUrl, ca, tokens, turns, everyMs, hurriedTurns, pets }: Load): Promise<Done> {
  const answers: Record<string, number> = {};
  const times: number[] = [];
  let changes = 0;

  const terminal = async (token: string): Promise<void> => {
    const agent = new Agent({ ca, keepAlive: true, maxSockets: 1 });
    let isMeasured = false;
    const ask = (path: string, headers = {}, body?: string): Promise<Answer> =>
      new Promise((resolve, reject) => {
        const method = body === undefined ? 'GET' : 'PATCH';
        const from = performance.now();
        const all = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers };
        request(`${baseUrl}/inventory${path}`, { agent, method, headers: all }, (response) => {
          const { statusCode = 0 } = response;
          text(response).then((whole) => {
            if (isMeasured) times.push(performance.now() - from);
            answers[statusCode] = (answers[statusCode] ?? 0) + 1;
            resolve([statusCode, whole]);
          }, reject);
        })
          .on('error', reject)
          .end(body);
      });
    const addOne = async (list: string): Promise<void> => {
      const petId = 1 + Math.floor(Math.random() * pets);
      let quantity = (JSON.parse(list) as { petId: number; quantity: number }[]).find(
        (each) => each.petId === petId,
      )!.quantity;
      for (;;) {
        const condition = { 'if-match': `"${quantity}"` };
        const [status, body] = await ask(`/${petId}`, condition, JSON.stringify({ quantity: quantity + 1 }));
        if (status === 200) changes++;
        if (status !== 412) return;
        ({ quantity } = JSON.parse(body) as { quantity: number });
      }
    };
    const start = Math.floor(Math.random() * 3);
    for (let turn = 0; turn < turns + hurriedTurns; turn++) {
      if (turn < turns) await sleep(everyMs * (turn === 0 ? Math.random() : 0.5 + Math.random()));
      const [status, list] = await ask('');
      isMeasured = turn < turns;
      if (status === 200 && (start + turn) % 3 === 0) await addOne(list);
    }
    agent.destroy();
  };

  const withErrors = (token: string): Promise<void> =>
    terminal(token).catch((error: unknown) => {
      answers[String(error)] = (answers[String(error)] ?? 0) + 1;
    });
  await Promise.all(tokens.map(withErrors));
  return { answers, changes, times };
}

process.stdout.write(JSON.stringify(await run(JSON.parse(await text(process.stdin)) as Load)));
