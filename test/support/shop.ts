/** A service that keeps its stock, and a way to run petstore against it. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startPetstore } from './binary.ts';
import { onCleanup } from './cleanup.ts';
import { createHome, fileIn, type Home } from './home.ts';
import { runIn } from './in-process.ts';
import { type Exchange, item, json, type Reply, send } from './replies.ts';
import { scriptedServer, type ScriptedServer } from './scripted-server.ts';
import { type JsonRun, runJson, staging, takeApart } from './staging.ts';
import { createTestContext } from './test-context.ts';

export type Stock = Record<string, number>;

/** `7=12` of an update. Takes a text for a number. */
function updateIn({ path, body }: Exchange['request']): readonly [petId: string, quantity: number] {
  return [path.split('/').at(-1)!, Number((JSON.parse(body) as { quantity: unknown }).quantity)];
}

/** Answers with the stock as it is when it is asked for. */
export const list =
  (stock: Stock): Reply =>
  (exchange) =>
    send(json(Object.entries(stock).map(([petId, quantity]) => item(Number(petId), quantity))), exchange);

/** Takes an update, and answers it as the service does, or with `answer`. */
export const take =
  (stock: Stock, answer?: Reply, then: () => unknown = () => undefined): Reply =>
  async (exchange) => {
    const [petId, quantity] = updateIn(exchange.request);
    stock[petId] = quantity;
    await then();
    await send(answer ?? json(item(Number(petId), quantity)), exchange);
  };

export interface Shop {
  readonly home: Home;
  readonly env: Readonly<Record<string, string>>;
  readonly server: ScriptedServer;
  /** Runs a command with --json. */
  run(...args: string[]): Promise<JsonRun>;
  start(...args: string[]): ReturnType<typeof startPetstore>;
  /** Writes the rows of a file, and returns its path. */
  file(...rows: string[]): string;
  /** Of each change, the newest first: pet, quantity, outcome. */
  history(): Promise<[petId: number, after: number, outcome: string][]>;
  /** `7=12`, one per update, in the order of arrival. */
  updates(): string[];
}

/** @param isHere commands run in this process, on virtual time: not beside a process of the same home */
export async function shopWith(replies: readonly Reply[], isHere = false): Promise<Shop> {
  const server = await scriptedServer(replies);
  const home = createHome();
  const env = staging(server.baseUrl);
  const run = async (...args: string[]): Promise<JsonRun> =>
    isHere
      ? takeApart(await runIn(createTestContext({ home, env }), '--json', ...args))
      : runJson(server.baseUrl, args, { home });
  return {
    home,
    env,
    server,
    run,
    start: (...args) => startPetstore([...args, '--json'], { home, env }),
    file: (...rows) => fileIn(home, 'rows.csv', rows.join('\n')),
    async history() {
      const { stdout } = await run('inventory', 'history');
      const rows = JSON.parse(stdout) as { petId: number; after: number; outcome: string }[];
      return rows.map(({ petId, after, outcome }) => [petId, after, outcome]);
    },
    updates: () => server.requests.filter(({ method }) => method === 'PATCH').map((each) => updateIn(each).join('=')),
  };
}

/**
 * A shop that lists and takes in any order.
 * @param held number of the update whose answer waits for `release`
 */
export async function openShop(
  stock: Stock,
  requests: number,
  held = 0,
): Promise<Shop & { readonly release: () => void }> {
  const released = Promise.withResolvers<undefined>();
  let updates = 0;
  const taking = take(stock, undefined, () => (++updates === held ? released.promise : undefined));
  const answer: Reply = (exchange) => send(exchange.request.method === 'GET' ? list(stock) : taking, exchange);
  const shop = await shopWith(Array.from({ length: requests }, () => answer));
  return { ...shop, release: () => released.resolve(undefined) };
}

/** Holds the write lock of the state database, as a backup or a stopped petstore does. Returns what lets it go. */
export function holdState(home: Home): () => void {
  const database = new DatabaseSync(join(home.state, 'petstore', 'state.db'));
  database.exec('BEGIN IMMEDIATE');
  const release = (): void => {
    if (database.isOpen) database.close();
  };
  onCleanup(release);
  return release;
}
