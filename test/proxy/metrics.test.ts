import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { Metrics } from '../../src/proxy/metrics.ts';

/** Debian's python3-prometheus-client, where it is installed. */
const PARSER = 'from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse';
const parse = (text: string) => {
  const program = `${PARSER}\nimport sys\nprint(*(family.name for family in parse(sys.stdin.read())))`;
  return spawnSync('python3', ['-c', program], { input: text, encoding: 'utf8' });
};
const hasParser = spawnSync('python3', ['-c', PARSER]).status === 0;

const NONE = { waiting: 0, inFlight: 0 };
const UNKNOWN = { allowance: undefined, block: undefined };
const LEASE = { machine: 'a', server: 'b', machines: 8, permits: {}, holds: {} };
const allowance = { limit: 60, remaining: 59, resetAt: 0 };

describe('metrics', () => {
  it('of a proxy that has just started', () => {
    expect(new Metrics().text(NONE, UNKNOWN)).toMatchSnapshot();
  });

  it('count requests by method and status, and the waits', () => {
    const metrics = new Metrics();
    for (const [method, status, waitedMs] of [
      ['GET', 200, 0],
      ['GET', 200, 10],
      ['PATCH', 200, 10.5],
      ['GET', 429, 0],
      ['other', 501, 0],
      ['GET', 200, 400_000],
      ['GET', 499, 60_000],
    ] as const) {
      metrics.observe({ method, status, waitedMs });
    }
    const lost = { since: 0, says: 'ECONNREFUSED', next: 1_000 };
    const block = { why: 'rate-limited', since: 0, until: 0 } as const;
    const known = { allowance: { ...allowance, remaining: 0 }, block, lease: { ...LEASE, lost } };
    const text = metrics.text({ waiting: 3, inFlight: 2 }, known);
    expect(text).toMatchSnapshot();
  });

  it.runIf(hasParser)('are what Prometheus itself accepts', () => {
    const metrics = new Metrics();
    metrics.observe({ method: 'GET', status: 200, waitedMs: 1_234.5678 });
    const { status, stderr, stdout } = parse(metrics.text(NONE, { ...UNKNOWN, allowance, lease: LEASE }));
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout.trim().split(' ')).toEqual([
      'petstore_proxy_requests',
      'petstore_proxy_wait_seconds',
      'petstore_proxy_queue_length',
      'petstore_proxy_in_flight',
      'petstore_rate_limit_blocked',
      'petstore_rate_limit_limit',
      'petstore_rate_limit_remaining',
      'petstore_ledger_up',
      'petstore_ledger_machines',
    ]);
    expect(parse(new Metrics().text(NONE, UNKNOWN)).status).toBe(0);
  });
});
