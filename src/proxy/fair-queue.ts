/** A queue in which clients take turns, each in the order of its own entries. */
export class FairQueue<T> {
  /** The client whose turn it is comes first. */
  private readonly clients = new Map<string, T[]>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(client: string, entry: T): void {
    const entries = this.clients.get(client);
    if (entries === undefined) this.clients.set(client, [entry]);
    else entries.push(entry);
    this.count++;
  }

  take(): T | undefined {
    for (const [client, entries] of this.clients) {
      const entry = entries.shift();
      this.clients.delete(client);
      if (entries.length > 0) this.clients.set(client, entries);
      this.count--;
      return entry;
    }
    return undefined;
  }

  /** False where it has been taken already. */
  remove(client: string, entry: T): boolean {
    const entries = this.clients.get(client) ?? [];
    const at = entries.indexOf(entry);
    if (at < 0) return false;
    entries.splice(at, 1);
    if (entries.length === 0) this.clients.delete(client);
    this.count--;
    return true;
  }

  /** Returns how many entries would be taken before the next one of that client. */
  ahead(client: string): number {
    const own = this.clients.get(client)?.length ?? 0;
    let sum = own;
    // Clients before it in the round have one turn more than it has entries, those after it one for each.
    let turns = own + 1;
    for (const [name, { length }] of this.clients) {
      if (name === client) turns = own;
      else sum += Math.min(length, turns);
    }
    return sum;
  }
}
