/** What the checks of a smoke test share: clients of the service, and failures that would end any other command. */
import { webPageFailure } from '../client/classify.ts';
import { probe, type Reply } from '../client/raw.ts';
import type { Call, Service } from '../client/service.ts';
import { Failure, type Kind, midway } from '../errors.ts';
import { open, type Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { countDown } from '../stop.ts';
import type { CheckFacts, SmokeOptions } from './finding.ts';

const USUAL_CAUSES: readonly Kind[] = ['unauthorized', 'service-failed', 'redirected', 'paused', 'contract'];
/** Refused by the service or a gateway. */
const FORBIDDEN: readonly Kind[] = ['forbidden', 'banned', 'gateway-refused'];

export type SmokeClients = ReturnType<typeof smokeClients>;

/** @param checks the chosen ones, in their order */
export function smokeClients(
  context: CommandContext,
  session: Session,
  options: SmokeOptions,
  checks: readonly CheckFacts[],
) {
  const keyed = session.service;
  /** Failures that would end any other command. They decide the exit code before failed checks do. */
  const causes: Failure[] = [];
  const clients = {
    ...{ context, session, options, checks, keyed, causes },
    /** True once a request may have been sent. */
    isBegun: false,
    isChosen: ({ id }: Pick<CheckFacts, 'id'>): boolean => checks.some((each) => each.id === id),
    /** Opens another session with the same service: with another key, or in a context with another signal or wait. */
    async open(own: CommandContext, apiKey = keyed.apiKey): Promise<Session> {
      const other = await open(own, { ...(await own.target()), apiKey }, { http: keyed.http });
      own.notices.watchLimits(() => session.gate.limits);
      return other;
    },
    /**
     * Waits up to --max-wait until the rate limit is enough for so many requests.
     * @returns whether it has waited
     * @throws {Failure} `quota-insufficient`
     */
    async afford(need: number): Promise<boolean> {
      const { allowance: known, block } = await session.known();
      // The window may end before the block does: as in every command, the gate then waits or refuses the first request.
      if (block !== undefined || known === undefined || known.remaining >= need) return false;
      const { limit, remaining: left, resetAt } = known;
      const { clock, globals, notices } = context;
      const waitMs = resetAt - clock.now();
      if (need > limit - (globals.reserve ?? 0) || waitMs > globals.maxWait) {
        throw new Failure('quota-insufficient', { limit, left, resetAt, need, begun: clients.isBegun });
      }
      await countDown(context, waitMs, () => {
        notices.waiting({ why: 'window-spent', until: resetAt, attempt: 1 });
      });
      notices.waiting(undefined);
      return true;
    },
    /**
     * Sends one request. After a 429 it is sent again when the gate allows it.
     * @throws {Failure} `rate-limited` and what else the gate or a signal ends it with
     */
    async ask(service: Service, call: Call, isUsual: boolean): Promise<Reply> {
      const received = await probe(service, call, { waits: true });
      const isJson = received.status !== 200 || received.json !== undefined;
      const answer = isJson ? received : { ...received, failure: webPageFailure(received) };
      clients.noteCause(service, answer, isUsual);
      clients.isBegun = true;
      return answer;
    },
    /**
     * Records an answer that would end any other command. If the service is supposed to refuse the request (not
     * `isUsual`), a 401 or 500 only fails the check.
     */
    noteCause(service: Service, { failure, status }: Reply, isUsual: boolean): void {
      if (failure === undefined) return;
      const isBan = FORBIDDEN.includes(failure.kind) && service.apiKey === keyed.apiKey;
      const counts = isUsual ? USUAL_CAUSES.includes(failure.kind) : [502, 503, 504].includes(status ?? 0);
      if (status === undefined || counts || isBan) causes.push(clients.isBegun ? midway(failure) : failure);
    },
    /** True if this answer would end any other command: it says nothing about the contract. */
    isCause(answer: Reply | undefined): boolean {
      const failure = answer?.failure;
      return failure !== undefined && causes.some((each) => each === failure || each.cause === failure);
    },
  };
  return clients;
}
