/** Counts the proxy's requests, and writes the metrics in the OpenMetrics text format 1.0. */
import type { ProxiedRequest } from './requests.ts';
import { isOneOf } from '../api/values.ts';
import { METHODS } from '../client/service.ts';
import { jsonObject, stringifyJson } from '../api/json.ts';
import type { Known, Session } from '../session/connect.ts';
import { isoTime, sharingJson } from '../session/limit-words.ts';
import { type Answer, answerOf, ownAnswer } from './answers.ts';

/** Upper bounds of the buckets of waits, in s, in OpenMetrics' canonical form. */
const BUCKETS = ['0.01', '0.1', '1.0', '5.0', '15.0', '60.0', '300.0'];

/** How many requests wait to be sent, and how many are not answered yet. */
type Queue = Readonly<Record<'waiting' | 'inFlight', number>>;

export class Metrics {
  /** Requests by method and status, and by the client's name: the suffixes of their samples. */
  private readonly requests = new Map<string, number>();
  private readonly clients = new Map<string, number>();
  private readonly waits = BUCKETS.map(() => 0);
  private waitSum = 0;
  /** Number of requests with a wrong token. */
  wrongTokens = 0;

  /** Counts an answered request. @param name the client's name */
  observe({ method, status, waitedMs }: Pick<ProxiedRequest, 'method' | 'status' | 'waitedMs'>, name?: string): void {
    add(this.requests, `_total{method="${isOneOf(METHODS, method) ? method : 'other'}",status="${status}"}`);
    if (name !== undefined) add(this.clients, `_total{client="${name}"}`);
    const seconds = waitedMs / 1_000;
    this.waitSum += seconds;
    for (const [i, bound] of BUCKETS.entries()) if (seconds <= Number(bound)) this.waits[i]!++;
  }

  text({ waiting, inFlight }: Queue, { allowance, block, lease }: Known): string {
    const lost = lease?.lost;
    const count = [...this.requests.values()].reduce((sum, each) => sum + each, 0);
    const families = [
      counter('petstore_proxy_requests', 'Requests from clients, by method and status of the answer.', this.requests),
      counter('petstore_proxy_client_requests', 'Requests from named clients.', this.clients),
      family('petstore_proxy_wait_seconds', 'histogram', 'Time that requests waited to be sent.', [
        ...BUCKETS.map((bound, i) => [`_bucket{le="${bound}"}`, this.waits[i]!] as const),
        ['_bucket{le="+Inf"}', count],
        ['_sum', Number(this.waitSum.toFixed(6))],
        ['_count', count],
      ]),
      counter('petstore_proxy_wrong_tokens', 'Requests with a wrong token.', [['_total', this.wrongTokens]]),
      gauge('petstore_proxy_queue_length', 'Requests waiting to be sent.', waiting),
      gauge('petstore_proxy_in_flight', 'Requests sent but not answered yet.', inFlight),
      gauge('petstore_rate_limit_blocked', '1 while nothing may be sent to the service.', block === undefined ? 0 : 1),
      gauge('petstore_rate_limit_limit', 'Requests allowed per window, as of the newest answer.', allowance?.limit),
      gauge('petstore_rate_limit_remaining', 'Requests left, as of the newest answer.', allowance?.remaining),
      gauge('petstore_ledger_up', '1 while the Redis server of PETSTORE_LEDGER works.', lease && (lost ? 0 : 1)),
      gauge('petstore_ledger_lost_timestamp_seconds', 'Since when it has not worked.', lost && lost.since / 1_000),
      gauge('petstore_ledger_machines', 'Machines that share the key, including this one.', lease?.machines),
    ];
    return `${families.join('')}# EOF\n`;
  }
}

function add(counts: Map<string, number>, suffix: string): void {
  counts.set(suffix, (counts.get(suffix) ?? 0) + 1);
}

type Samples = Iterable<readonly [suffix: string, value: number]>;

function counter(name: string, help: string, samples: Samples): string {
  return family(name, 'counter', help, samples);
}

function gauge(name: string, help: string, value: number | undefined): string {
  return value === undefined ? '' : family(name, 'gauge', help, [['', value]]);
}

function family(name: string, type: string, help: string, samples: Samples): string {
  const lines = Array.from(samples, ([suffix, value]) => `${name}${suffix} ${value}\n`);
  return `# TYPE ${name} ${type}\n# HELP ${name} ${help}\n${lines.join('')}`;
}

/** Answers requests about the proxy itself: `/__petstore/status` and `/__petstore/metrics`. */
export async function stateAnswer(url: string, session: Session, metrics: Metrics, queue: Queue): Promise<Answer> {
  const known = await session.known();
  switch (url) {
    case '/__petstore/status': {
      const { allowance, block, lease } = known;
      const status = jsonObject({
        environment: session.environment,
        baseUrl: session.service.baseUrl.href,
        queue: queue.waiting,
        inFlight: queue.inFlight,
        rateLimit: allowance === undefined ? null : jsonObject({ ...allowance, resetAt: isoTime(allowance.resetAt) }),
        block: block === undefined ? null : jsonObject({ why: block.why, until: isoTime(block.until) }),
        ledger: sharingJson(lease, session.service.clock.now()),
      });
      return ownAnswer('application/json', `${stringifyJson(status)}\n`);
    }
    case '/__petstore/metrics':
      return ownAnswer('application/openmetrics-text; version=1.0.0; charset=utf-8', metrics.text(queue, known));
    default:
      return answerOf([404, 'not_found', 'Here are /__petstore/status and /__petstore/metrics.']);
  }
}
