/** Answers requests about the proxy itself: `/__petstore/status` and `/__petstore/metrics`. */
import { jsonObject, type JsonValue, stringifyJson } from '../api/json.ts';
import type { Session } from '../session/connect.ts';
import { type Answer, answerOf } from './answers.ts';
import type { Metrics } from './metrics.ts';
import type { Turns } from './turns.ts';

interface Sources {
  readonly session: Session;
  readonly turns: Turns;
  readonly metrics: Metrics;
}

export async function ownAnswer(url: string, sources: Sources): Promise<Answer> {
  switch (url) {
    case '/__petstore/status':
      return textAnswer('application/json', `${stringifyJson(await status(sources))}\n`);
    case '/__petstore/metrics':
      return textAnswer('application/openmetrics-text; version=1.0.0; charset=utf-8', await metricsText(sources));
    default:
      return answerOf([404, 'not_found', 'Here are /__petstore/status and /__petstore/metrics.']);
  }
}

function textAnswer(type: string, body: string): Answer {
  return { status: 200, headers: { 'content-type': type, 'content-length': String(Buffer.byteLength(body)) }, body };
}

async function status({ session, turns }: Sources): Promise<JsonValue> {
  const [rateLimit, block] = await Promise.all([session.allowance(), session.block()]);
  return jsonObject({
    environment: session.environment,
    baseUrl: session.service.baseUrl.href,
    queue: turns.waiting,
    inFlight: turns.inFlight,
    rateLimit:
      rateLimit === undefined
        ? null
        : jsonObject({
            limit: rateLimit.limit,
            remaining: rateLimit.remaining,
            resetAt: new Date(rateLimit.resetAt).toISOString(),
          }),
    block: block === undefined ? null : jsonObject({ why: block.why, until: new Date(block.until).toISOString() }),
  });
}

async function metricsText({ session, turns, metrics }: Sources): Promise<string> {
  const [rateLimit, block] = await Promise.all([session.allowance(), session.block()]);
  return metrics.text({
    waiting: turns.waiting,
    inFlight: turns.inFlight,
    ...(rateLimit !== undefined && { limit: rateLimit.limit, remaining: rateLimit.remaining }),
    isBlocked: block !== undefined,
  });
}
