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

const GAUGES = { waiting: 0, inFlight: 0, isBlocked: false };

describe('metrics', () => {
  it('of a proxy that has just started', () => {
    expect(new Metrics().text(GAUGES)).toMatchSnapshot();
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
    const sharing = { machines: 8, lent: 0, lost };
    const text = metrics.text({ waiting: 3, inFlight: 2, limit: 60, remaining: 0, isBlocked: true, sharing });
    expect(text).toMatchSnapshot();
    expectOpenMetrics(text);
  });

  it.runIf(hasParser)('are what Prometheus itself accepts', () => {
    const metrics = new Metrics();
    metrics.observe({ method: 'GET', status: 200, waitedMs: 1_234.5678 });
    const { status, stderr, stdout } = parse(
      metrics.text({ ...GAUGES, limit: 60, remaining: 59, sharing: { machines: 8, lent: 0 } }),
    );
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
    expect(parse(new Metrics().text(GAUGES)).status).toBe(0);
  });

  it('of no requests are OpenMetrics too', () => {
    expectOpenMetrics(new Metrics().text(GAUGES));
  });
});

/** Checks the rules of OpenMetrics 1.0 that concern counters, gauges and histograms. */
function expectOpenMetrics(text: string): void {
  expect(text.endsWith('# EOF\n')).toBe(true);
  const lines = text.split('\n').slice(0, -2);
  const seen = new Set<string>();
  let family = { name: '', type: '' };
  const samples = new Map<string, number>();
  for (const line of lines) {
    const meta = /^# (TYPE|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line);
    if (meta !== null) {
      const [, kind, name = '', rest = ''] = meta;
      if (kind === 'TYPE') {
        // Families are not interleaved, and each comes once.
        expect(seen.has(name)).toBe(false);
        seen.add(name);
        family = { name, type: rest };
        expect(['counter', 'gauge', 'histogram']).toContain(rest);
      } else {
        expect(name).toBe(family.name);
        expect(rest).not.toMatch(/["\\\n]/);
      }
      continue;
    }
    const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-z]+="[^"\\\n]*",?)+\})? (\S+)$/.exec(line);
    expect(sample, line).not.toBeNull();
    const [, name = '', labels = '', value = ''] = sample!;
    const suffixes = { counter: ['_total'], gauge: [''], histogram: ['_bucket', '_sum', '_count'] };
    expect(suffixes[family.type as 'gauge']).toContain(name.slice(family.name.length));
    expect(name.startsWith(family.name)).toBe(true);
    expect(Number(value)).toBeGreaterThanOrEqual(0);
    expect(samples.has(name + labels), line).toBe(false);
    samples.set(name + labels, Number(value));
  }
  expectBuckets(samples);
}

function expectBuckets(samples: ReadonlyMap<string, number>): void {
  const buckets = [...samples].filter(([name]) => name.includes('_bucket'));
  const bounds = buckets.map(([name]) => /le="(.+)"/.exec(name)?.[1] ?? '');
  // Floats in their one form, in ascending order, the last of them +Inf.
  for (const bound of bounds) expect(bound).toMatch(/^(?:0\.0*[1-9]+|[1-9][0-9]*\.[0-9]*[1-9]|[1-9][0-9]*\.0|\+Inf)$/);
  expect(bounds.at(-1)).toBe('+Inf');
  const numbers = bounds.slice(0, -1).map(Number);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  const counts = buckets.map(([, count]) => count);
  expect(counts).toEqual(counts.toSorted((a, b) => a - b));
  expect(counts.at(-1)).toBe([...samples].find(([name]) => name.endsWith('_count'))?.[1]);
}
