/** Reads how long a refusal asks to wait, independently of the program's own reader of the headers. */

/** `headers`: lower-case names, repeated ones repeated. Undefined: no time is named. `now`: epoch ms of the server. */
export function askedWaitMs(
  status: number,
  headers: readonly (readonly [name: string, value: string])[],
  now: number,
): number | undefined {
  if (status !== 429 && status !== 403 && status !== 503) return undefined;
  const values = (wanted: string): string[] =>
    headers.filter(([name]) => name === wanted).flatMap(([, value]) => value.split(','));
  const longest = (waits: readonly number[]): number | undefined => {
    const known = waits.filter((each) => Number.isFinite(each) && each >= 0);
    return known.length === 0 ? undefined : Math.max(...known) * 1_000;
  };
  return (
    longest(values('retry-after').map(Number)) ??
    longest(values('ratelimit-reset').map(Number)) ??
    longest(
      values('ratelimit').flatMap((each) => [...each.matchAll(/\b(?:t|reset)=(\d+)/g)].map(([, s]) => Number(s))),
    ) ??
    longest(values('x-ratelimit-reset').map((each) => (Number(each) > 1e9 ? Number(each) - now / 1_000 : Number(each))))
  );
}
