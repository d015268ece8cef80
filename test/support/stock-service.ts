/** A service without sockets that keeps its stock, for commands that run in this process. */
import type { HttpRequest } from '../../src/ports.ts';
import { item, json, type Limits, type PlainReply } from './replies.ts';
import type { TestContextOptions } from './test-context.ts';
import { httpReply } from './test-ports.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface StockService {
  /** The quantity of each pet. */
  readonly stock: Map<number, number>;
  /** Requests at the same time, at most, for each one that came. */
  readonly underWay: readonly number[];
  /** For each context that uses it. */
  readonly ports: Required<Pick<TestContextOptions, 'clock' | 'http'>>;
}

/**
 * Answers a request instead of the service, if it returns a reply; the stock stays as it is then.
 * @param update the number of the update, from 1; 0 for a read
 */
export type Answering = (
  request: HttpRequest,
  update: number,
  clock: VirtualClock,
) => Promise<PlainReply | undefined> | PlainReply | undefined;

export function stockService(
  stock: Map<number, number>,
  limits: Partial<Limits> = {},
  answer: Answering = () => undefined,
): StockService {
  const clock = new VirtualClock({ autoAdvance: true });
  const underWay: number[] = [];
  let now = 0;
  let updates = 0;
  const reply = async (request: HttpRequest): Promise<PlainReply> => {
    const isUpdate = request.method === 'PATCH';
    const other = await answer(request, isUpdate ? ++updates : 0, clock);
    if (other !== undefined) return other;
    const items = (): object[] => [...stock].map(([petId, quantity]) => item(petId, quantity));
    if (!isUpdate) return json(items(), { limits });
    const petId = Number(request.url.pathname.split('/').at(-1));
    const { quantity } = JSON.parse(String(request.body)) as { quantity: number };
    stock.set(petId, quantity);
    return json(item(petId, quantity), { limits });
  };
  const http = async (request: HttpRequest) => {
    underWay.push(++now);
    try {
      return httpReply(await reply(request), clock.now());
    } finally {
      now--;
    }
  };
  return { stock, underWay, ports: { clock, http } };
}
