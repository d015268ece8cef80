import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { Metrics } from '../../src/proxy/metrics.ts';

/** Debian's python3-prometheus-client, where it is installed. */
const PARSER = 'from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse';
const parse = (text: string) => {
  const program = `${PARSER}\nimport sys\nlist(parse(sys.stdin.read()))`;
  return spawnSync('python3', ['-c', program], { input: text, encoding: 'utf8' });
};
const hasParser = spawnSync('python3', ['-c', PARSER]).status === 0;

describe('metrics', () => {
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
    const lost = { since: 1_772_460_200_250, says: 'ECONNREFUSED', next: 1_000 };
    const lease = { machine: 'a', server: 'b', machines: 8, permits: {}, holds: {}, lost };
    const block = { why: 'rate-limited', since: 0, until: 0 } as const;
    const known = { allowance: { limit: 60, remaining: 0, resetAt: 0 }, block, lease };
    const text = metrics.text({ waiting: 3, inFlight: 2 }, known);
    expect(text).toMatchSnapshot();
    if (hasParser) expect(parse(text)).toMatchObject({ status: 0, stderr: '' });
  });
});
