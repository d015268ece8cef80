/** The sandbox keeps every acknowledged write, however it ends. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createHome } from '../support/home.ts';
import { scaled } from '../support/scale.ts';
import { ask, patch, type Served, serveSandbox } from '../support/served.ts';
import { mulberry32 } from '../support/test-ports.ts';

const UNLIMITED = ['--per-minute', '1000000', '--per-day', '1000000', '--quiet'];
const CLIENTS = 4;

async function stockOf({ port }: Served): Promise<Map<number, number>> {
  const { body } = await ask(port, '/v1/inventory', { headers: { authorization: 'Bearer sandbox' } });
  return new Map((JSON.parse(body) as { petId: number; quantity: number }[]).map((pet) => [pet.petId, pet.quantity]));
}

/** What each client's pet was last sent, and last known to have. */
interface Written {
  sent: number;
  acknowledged: number;
}

/** Clients that write until the server dies in the midst of it, after so many answers. */
async function writeUntilKilled(server: Served, pets: readonly Written[], answers: number): Promise<void> {
  let left = answers;
  const write = async (pet: Written, petId: number): Promise<void> => {
    for (;;) {
      const quantity = ++pet.sent;
      try {
        const { status } = await patch(server, petId, quantity);
        expect(status).toBe(200);
      } catch (error) {
        if ((error as { code?: string }).code === undefined && !String(error).includes('aborted')) throw error;
        return;
      }
      pet.acknowledged = quantity;
      if (--left === 0) server.kill('SIGKILL');
    }
  };
  await Promise.all(pets.map((pet, i) => write(pet, i + 1)));
  await server.exited;
}

it('a server that is killed under write load, again and again, still has every update that it acknowledged', async () => {
  const home = createHome();
  const data = ['--data', join(home.path, 'shop.db'), '--seed', '25'];
  const random = mulberry32(1);
  const pets: Written[] = Array.from({ length: CLIENTS }, () => ({ sent: 0, acknowledged: 0 }));
  let server = await serveSandbox([...data, ...UNLIMITED], { home });
  for (let kills = 0; kills < scaled(15); kills++) {
    await writeUntilKilled(server, pets, 1 + Math.floor(random() * 30));
    server = await serveSandbox([...data.slice(0, 2), ...UNLIMITED], { home });
    const stock = await stockOf(server);
    for (const [i, pet] of pets.entries()) {
      const found = stock.get(i + 1) ?? -1;
      expect(found >= pet.acknowledged && found <= pet.sent, `pet ${i + 1}: ${found}`).toBe(true);
      pet.sent = found;
      pet.acknowledged = found;
    }
  }
});
