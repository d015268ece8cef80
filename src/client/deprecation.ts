/** Deprecation (RFC 9745: `@` and epoch seconds) and Sunset (RFC 8594: an HTTP-date) -> one warning. */
import type { HttpReply } from '../ports.ts';
import { parseHttpDate } from '../rate-limit/http-date.ts';
import type { Call, Service } from './service.ts';

const warned = new WeakMap<Service, Set<string>>();

/** Warns once per command and operation; a header that cannot be read is ignored. */
export function warnOfSunset(headers: HttpReply['headers'], service: Service, call: Call): void {
  const deprecated = readDeprecation(headers.get('deprecation'));
  const sunset = readSunset(headers.get('sunset'), service.clock.now());
  if (deprecated === undefined && sunset === undefined) return;

  const operation = `${call.method} ${call.path.replace(/\d+/, '{petId}')}`;
  const seen = warned.get(service) ?? new Set();
  if (seen.has(operation)) return;
  warned.set(service, seen.add(operation));

  const parts = [
    deprecated !== undefined &&
      `is deprecated ${deprecated <= service.clock.now() ? 'since' : 'from'} ${day(deprecated)}`,
    sunset !== undefined && `${deprecated === undefined ? 'goes' : 'and goes'} away on ${day(sunset)}`,
  ];
  service.watch.warning(`The service says that ${operation} ${parts.filter(Boolean).join(' ')}.`);
}

function readDeprecation(values: readonly string[] | undefined): number | undefined {
  const match = /^@(\d{1,12})$/.exec(values?.[0]?.trim() ?? '');
  return match === null ? undefined : Number(match[1]) * 1_000;
}

function readSunset(values: readonly string[] | undefined, now: number): number | undefined {
  return values?.[0] === undefined ? undefined : parseHttpDate(values[0], now);
}

function day(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}
