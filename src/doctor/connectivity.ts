/** Doctor's checks of the connection: each step separately, then one request with the key. */
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { sharingWords } from '../session/limit-words.ts';
import { openLedger, sharedLedger } from '../session/open-ledger.ts';
import { type Network, NetworkFailure, type Peer, RedisFailure } from '../ports.ts';
import { Failure, isFailure } from '../errors.ts';
import { duration } from '../view/progress.ts';
import { plural } from '../view/words.ts';
import { bad, certificate, clockDifference, failed, note, ok, skipped, type Steps, warn } from './diagnosis.ts';
import { isAbout, KEY_KINDS } from './local.ts';
import { probe, type Reply } from '../client/raw.ts';
import { gatewayOf, readLimitHeaders } from '../rate-limit/headers.ts';

export async function* lookAtService(context: CommandContext, url: URL): Steps {
  if ((await context.settings()).environment.value !== 'sandbox') {
    const maySend = yield* lookAtLedger(context);
    const isReached = yield* lookAtWay(context, await networkOf(context), url);
    if (!isReached || !maySend) {
      const without = 'Nothing is sent without the Redis server of PETSTORE_LEDGER.';
      yield skipped('service', isReached ? without : 'It cannot be reached.');
      return;
    }
  }
  yield* lookAtKey(context);
}

/** Reads and writes a key as the lock of a pet does, to see whether the server allows it. */
const LOCK_RIGHTS = "redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], '', 'PX', 1) return ''";

/**
 * Checks the server of `PETSTORE_LEDGER`, if set: one step for the key, and one for the lock of a pet.
 * @returns whether this server allows requests to be sent
 */
async function* lookAtLedger(context: CommandContext): Steps<boolean> {
  const { clock } = context;
  const id = 'shared-ledger';
  try {
    if (sharedLedger(context) === undefined) return true;
    await using opened = await openLedger(context, await context.target(), { isShown: true });
    const { lease } = await opened.view();
    if (lease?.lost !== undefined) {
      const fix = 'Start it, fix the address, or solve the problem that it names.';
      yield bad(id, `${sharingWords(lease, clock.now())}.`, fix);
      return false;
    }
    await opened.redis?.run(LOCK_RIGHTS, 'petstore:pet:doctor', []);
    yield ok(id, 'The Redis server of PETSTORE_LEDGER answers, and allows what petstore needs.');
    return true;
  } catch (error) {
    const failure = error instanceof RedisFailure ? new Failure('ledger-refused', { says: error.message }) : error;
    if (!isFailure(failure)) throw failure;
    // The other checks report a missing key or a malformed address.
    if (!failure.is('ledger-refused')) return true;
    yield failed(id, failure, clock.now());
    return false;
  }
}

/** Checks each step of the connection. @returns whether it is worth sending a request */
async function* lookAtWay(context: CommandContext, network: Network, url: URL): Steps<boolean> {
  const route = network.proxyFor(url);
  if (route.kind === 'unusable') {
    yield bad('proxy', `${route.variable} ${route.problem}.`, 'Write it as http://host:port.');
    return false;
  }
  if (route.kind === 'direct') yield ok('proxy', `No proxy is used for ${url.host}.`);
  else {
    const { proxy, variable } = route;
    const through = `${proxy.protocol}//${proxy.host} (${variable})`;
    yield note('proxy', `Requests go through ${through}, which resolves the name and connects.`);
    const fix = `Check ${variable}, or name the service in NO_PROXY.`;
    return (yield* lookAtHost(context, network, proxy, fix)) !== undefined;
  }
  const peer = yield* lookAtHost(context, network, url, 'Check the base URL, and whether a firewall is in between.');
  if (peer === undefined) return false;
  if (url.protocol === 'http:') {
    yield skipped('tls', 'The base URL is http.');
    return true;
  }
  return yield* lookAtCertificate(context, network, peer);
}

/** Resolves the name, and connects to each address. @returns the first that can be reached */
async function* lookAtHost(context: CommandContext, network: Network, url: URL, fix: string): Steps<Peer | undefined> {
  const name = url.hostname.replace(/[[\]]/g, '');
  const port = Number(url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port);
  const addresses = await orNetworkFailure(network.lookup(name));
  if (addresses instanceof NetworkFailure) {
    yield bad('dns', `${name} cannot be resolved (${addresses.code}).`, `${fix} Try: nslookup ${name}`);
    return undefined;
  }
  const says = addresses.includes(name)
    ? `${name} is an address; nothing to resolve.`
    : `${name} is ${addresses.join(', ')}.`;
  yield ok('dns', says);
  const reached: Peer[] = [];
  const refused: string[] = [];
  for (const address of addresses) {
    const started = context.clock.monotonic();
    const failure = await orNetworkFailure(network.connect({ address, port, name }));
    if (failure instanceof NetworkFailure) refused.push(`${at(address, port)} (${failure.code})`);
    else {
      reached.push({ address, port, name });
      yield ok('tcp', `${at(address, port)} answers in ${duration(context.clock.monotonic() - started)}.`);
    }
  }
  if (refused.length > 0) {
    const lost = `No connection to ${refused.join(', ')}.`;
    yield reached.length === 0
      ? bad('tcp', lost, fix)
      : warn('tcp', lost, 'Others answer, but each command may lose time.');
  }
  return reached[0];
}

async function* lookAtCertificate(context: CommandContext, network: Network, peer: Peer): Steps<boolean> {
  const found = await orNetworkFailure(network.handshake(peer));
  if (found instanceof NetworkFailure) {
    const says = `No TLS connection to ${at(peer.address, peer.port)} (${found.code}).`;
    yield bad('tls', says, 'Check the port of the base URL; the service must offer TLS 1.2 or later.');
    return false;
  }
  const fix = 'Tell the owners of the service; for an authority of your own, set NODE_EXTRA_CA_CERTS=FILE.';
  const diagnosis = certificate('tls', found, peer.name, context.clock.now(), fix);
  yield diagnosis;
  return diagnosis.health !== 'fail';
}

/** Sends one request with the key. */
async function* lookAtKey(context: CommandContext): Steps {
  const now = context.clock.now();
  try {
    await using session = await connect(context);
    const { service } = session;
    const where = service.environment === 'sandbox' ? 'the sandbox' : service.baseUrl.host;
    context.notices.info(`Checking the key with one request to ${where}.`);
    const answer = await probe(service, { method: 'GET', path: '/inventory' });
    const { failure } = answer;
    if (answer.status === 429) {
      yield warn('service', 'The service asks this key to wait (429).', 'Wait. petstore limits shows until when.');
    } else if (failure !== undefined) yield failed('service', failure, now);
    else if (Array.isArray(answer.json)) {
      yield ok('service', `It accepts the key, and lists ${plural(answer.json.length, 'pet')}.`);
    } else {
      const fix = 'Check the base URL, and whether your network asks you to log in.';
      yield bad('service', 'The answer is not from the service: it is not a list.', fix);
    }
    // A redirect or a login page tells nothing about the service.
    const { status = 0 } = answer;
    if (status >= 400 || (status === 200 && Array.isArray(answer.json))) yield* lookAtHeaders(answer);
  } catch (error) {
    if (isAbout(error, KEY_KINDS)) {
      yield skipped('service', 'Not checked without a key.');
      return;
    }
    // Being rate limited does not mean that the key is bad.
    yield failed('service', error, now, isFailure(error) && error.is('rate-limited') ? 'warn' : 'fail');
  }
}

function* lookAtHeaders(answer: Reply) {
  const difference = clockDifference(answer);
  if (difference === undefined) {
    const fix = 'Tell its owners: with a Date header, waits do not depend on clocks.';
    yield warn('clock', 'The service sends no valid Date header.', fix);
  } else if (!difference.isLarge) {
    yield ok('clock', "This machine's clock agrees with the service's.");
  } else {
    const fix =
      'Check this machine first (timedatectl set-ntp true); if its clock is right, tell the owners of the service. ' +
      'Waits do not depend on the clocks, but certificates and logs do.';
    yield warn('clock', `The service's clock is ${difference.words}.`, fix);
  }
  if (gatewayOf(answer.headers) === 'refused') return;
  const names = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
  const missing = names.filter((name) => !answer.headers.has(name.toLowerCase()));
  const isUsed = readLimitHeaders(answer.headers, answer.receivedAt).window !== undefined;
  const fix = `Tell the owners of the service${isUsed ? '.' : '; until then petstore sends one request a second.'}`;
  if (missing.length > 0) yield warn('limit-headers', `The answer lacks ${missing.join(', ')}.`, fix);
  else if (isUsed) yield ok('limit-headers', 'The service sends rate-limit headers.');
  else yield warn('limit-headers', 'The service sends rate-limit headers that petstore cannot use.', fix);
}

function at(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Opens the network. Each step fails after 10 s, or --timeout if it is shorter. */
export function networkOf({ globals, signal, openNetwork }: CommandContext): Promise<Network> {
  return openNetwork({ timeoutMs: Math.min(globals.timeout ?? 10_000, 10_000), signal });
}

export function orNetworkFailure<T>(step: Promise<T>): Promise<T | NetworkFailure> {
  return step.catch((error: unknown) => {
    if (error instanceof NetworkFailure) return error;
    throw error;
  });
}
