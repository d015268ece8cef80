/** The service behind a rate limiter under test: a stock, without limits of its own. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Handler } from '../support/served.ts';

export interface Item {
  readonly petId: number;
  readonly quantity: number;
  readonly status: string;
}

export class Stock {
  readonly #quantities = new Map<number, number>();

  /** Pets 0 to `pets`, each with nothing in stock. */
  constructor(pets: number) {
    for (let pet = 0; pet <= pets; pet++) this.#quantities.set(pet, 0);
  }

  list(): Item[] {
    return [...this.#quantities.keys()].map((pet) => this.item(pet));
  }

  item(petId: number): Item {
    return { petId, quantity: this.#quantities.get(petId) ?? 0, status: 'available' };
  }

  /** Number of pets that something was set for. */
  get changed(): number {
    return [...this.#quantities.values()].filter((quantity) => quantity > 0).length;
  }

  set(petId: number, body: unknown): Item {
    this.#quantities.set(petId, (body as { quantity: number }).quantity);
    return this.item(petId);
  }
}

/** Serves GET and PATCH over plain node:http. `headers`: those of each answer. */
export function serve(stock: Stock, headers: Readonly<Record<string, string>> = {}, afterMs = 0): Handler {
  return async (req: IncomingMessage, res: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const petId = Number(req.url?.split('/').at(-1));
    const text = Buffer.concat(chunks).toString();
    const answer = req.method === 'PATCH' ? stock.set(petId, JSON.parse(text)) : stock.list();
    if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs));
    for (const [name, value] of Object.entries({ ...headers, 'content-type': 'application/json' }))
      res.setHeader(name, value);
    res.end(JSON.stringify(answer));
  };
}
