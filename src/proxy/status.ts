/** Answers requests about the proxy itself: `/__petstore/status` and `/__petstore/metrics`. */
import { jsonObject, stringifyJson } from '../api/json.ts';
import type { Session } from '../session/connect.ts';
import { type Answer, answerOf } from './answers.ts';
import type { Metrics } from './metrics.ts';
import type { Turns } from './turns.ts';

interface Sources {
  readonly session: Session;
  readonly turns: Turns;
  readonly metrics: Metrics;
}

export async function ownAnswer(url: string, { session, turns, metrics }: Sources): Promise<Answer> {
  const [limits, block] = await Promise.all([session.allowance(), session.block()]);
  const { waiting, inFlight } = turns;
  switch (url) {
    case '/__petstore/status': {
      const status = jsonObject({
        environment: session.environment,
        baseUrl: session.service.baseUrl.href,
        queue: waiting,
        inFlight,
        rateLimit: limits === undefined ? null : jsonObject({ ...limits, resetAt: timeOf(limits.resetAt) }),
        block: block === undefined ? null : jsonObject({ why: block.why, until: timeOf(block.until) }),
      });
      return textAnswer('application/json', `${stringifyJson(status)}\n`);
    }
    case '/__petstore/metrics': {
      const text = metrics.text({ ...limits, waiting, inFlight, isBlocked: block !== undefined });
      return textAnswer('application/openmetrics-text; version=1.0.0; charset=utf-8', text);
    }
    default:
      return answerOf([404, 'not_found', 'Here are /__petstore/status and /__petstore/metrics.']);
  }
}

function timeOf(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

function textAnswer(type: string, body: string): Answer {
  return { status: 200, headers: { 'content-type': type, 'content-length': String(Buffer.byteLength(body)) }, body };
}
