/** Requests in the order in which they go: of each client one in each round, whoever asks more often. */
export class FairQueue<T extends { readonly client: string }> {
  private readonly entries: { readonly request: T; readonly round: number }[] = [];
  /** The round of the newest request that went. */
  private round = 0;
  /** The rounds in which clients went last, but for those that are over. */
  private readonly served = new Map<string, number>();

  get size(): number {
    return this.entries.length;
  }

  add(request: T): void {
    const round = this.nextRound(request.client);
    this.entries.splice(this.ahead(request.client), 0, { request, round });
  }

  /** Returns the requests that go first. */
  first(count: number): readonly T[] {
    return this.entries.slice(0, count).map(({ request }) => request);
  }

  /** Returns how many go before the next request of that client. */
  ahead(client: string): number {
    const round = this.nextRound(client);
    return this.entries.findLastIndex((each) => each.round <= round) + 1;
  }

  /** Takes a request out. `hasGone`: its client's turn is over. */
  remove(request: T, hasGone: boolean): void {
    const at = this.entries.findIndex((each) => each.request === request);
    const { round } = this.entries[at] ?? {};
    if (round === undefined) return;
    this.entries.splice(at, 1);
    if (!hasGone) return;
    this.served.set(request.client, round);
    if (round <= this.round) return;
    this.round = round;
    for (const [client, last] of this.served) if (last < round) this.served.delete(client);
  }

  private nextRound(client: string): number {
    const newest = this.entries.findLast(({ request }) => request.client === client)?.round;
    return Math.max(this.round, (newest ?? this.served.get(client) ?? -1) + 1);
  }
}
