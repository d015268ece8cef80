/** Decides who may use the proxy: programs of this machine that know its token, and no web page. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { isWrite } from '../client/classify.ts';
import type { Call } from '../client/service.ts';
import { isOurs, endRaw, onBadRequest, type Refusal } from '../http/server.ts';
import { answerOf } from './answers.ts';
import { isLooping, pathBelowBase } from './messages.ts';
import { Failure, fileFailure, isFailure } from '../errors.ts';
import type { CommandContext } from '../session/globals.ts';
import { readText } from '../session/read-text.ts';

/** Fewer than an HTTP server of petstore has places for. */
const MOST_STRANGERS = 500;

export interface Access {
  /** One of them has to be sent, as `bearerHash` returns it; undefined: no token is asked for. */
  readonly tokens: readonly Buffer[] | undefined;
  readonly isReadOnly: boolean;
}

const METHODS = new Set<string>([
  'GET',
  'PATCH',
  'POST',
  'PUT',
  'DELETE',
  'HEAD',
  'OPTIONS',
] satisfies Call['method'][]);

export function isMethod(method: string): method is Call['method'] {
  return METHODS.has(method);
}

/** Returns why a request is refused, by its head alone. */
export function refusalOf(incoming: IncomingMessage, { tokens, isReadOnly }: Access): Refusal | undefined {
  const { headers, headersDistinct, method = '', url = '' } = incoming;
  if ((headersDistinct.host?.length ?? 0) > 1) return [400, 'malformed', 'A request has one Host header.'];
  // By a name of another site that is resolved to this machine (DNS rebinding).
  if (!isOurs(headers.host, [])) return [403, 'foreign_host', 'The Host header must be localhost or an address.'];
  if (headers.origin !== undefined || !['none', undefined].includes(headers['sec-fetch-site']?.toString())) {
    return [403, 'from_web_page', 'Web pages cannot use this proxy.'];
  }
  if (tokens !== undefined && !matchesAny(tokens, headers.authorization ?? '')) {
    return [401, 'unauthorized', "Send the proxy's token: Authorization: Bearer TOKEN."];
  }
  if (isLooping(headers)) return [508, 'loop', 'The base URL of this proxy leads back to it.'];
  if (!isMethod(method)) return [501, 'unknown_method', `The proxy does not pass on ${method}.`];
  if (isOwnPath(url)) return method === 'GET' ? undefined : [405, 'method_not_allowed', 'Allowed here: GET.'];
  if (pathBelowBase(url) === undefined) {
    return [404, 'not_found', 'The proxy passes on paths below /v1, without dot segments.'];
  }
  if (isReadOnly && isWrite(method)) {
    return [405, 'read_only', 'This proxy was started with --read-only. Allowed: GET, HEAD, OPTIONS.'];
  }
  return undefined;
}

/**
 * Refuses what is not a plain request, unless it follows requests that are not answered yet: the refusal would be taken
 * for their answer. `lastOn`: the last of the answers that a connection waits for.
 */
export function refuseOthers(server: Server, lastOn: (socket: Duplex) => ServerResponse | undefined): void {
  const refuse = (...refusal: Refusal) => {
    return (_incoming: IncomingMessage, socket: Duplex): void => {
      if (lastOn(socket) === undefined) endRaw(socket, answerOf(refusal));
      else socket.destroy();
    };
  };
  server.on('connect', refuse(501, 'no_tunnels', 'The proxy opens no tunnels: use its address as the base URL.'));
  server.on('upgrade', refuse(501, 'no_upgrades', 'The proxy speaks HTTP/1.1 only.'));
  onBadRequest(server, (refusal, socket) => {
    const last = lastOn(socket);
    if (last === undefined) endRaw(socket, answerOf(refusal));
    // The connection ends with it.
    else last.shouldKeepAlive = false;
  });
}

/** Disconnects the oldest of the connections that have shown no token, so that they never take all places. */
export function limitStrangers(server: Server, strangers: Set<Duplex>): void {
  server.on('connection', (socket: Duplex) => {
    strangers.add(socket);
    socket.once('close', () => strangers.delete(socket));
    const [oldest] = strangers;
    if (oldest === undefined || strangers.size <= MOST_STRANGERS) return;
    strangers.delete(oldest);
    oldest.destroy();
  });
}

/** True for the status and the metrics of the proxy. */
export function isOwnPath(url: string): boolean {
  return url.startsWith('/__petstore/');
}

/** Returns the hash of the Authorization header that has the token. */
export function bearerHash(token: string): Buffer {
  return hash('sha256', `Bearer ${token}`, 'buffer');
}

/** Compares in a time that does not depend on the texts. */
function matchesAny(hashes: readonly Buffer[], authorization: string): boolean {
  const given = hash('sha256', authorization.replace(/^bearer +/i, 'Bearer '), 'buffer');
  return hashes.some((each) => timingSafeEqual(each, given));
}

const LONGEST_FILE = 4_096;

/** Reads the proxy's own token, which clients send in place of the key, of a file, or creates the file (mode 0600). @throws {Failure} `file`, `usage` */
export async function openToken(context: CommandContext, path: string, made: string): Promise<string> {
  const { files, machine, notices } = context;
  try {
    const value = (await readText(context, path, LONGEST_FILE)).trim();
    if (!/^[!-~]{16,}$/.test(value)) {
      throw new Failure('usage', {
        problem: `The file ${path} holds no token: 16 or more characters without a space, in one line.`,
        hint: 'Remove the file, and petstore proxy creates one.',
      });
    }
    const facts = await files.facts(path);
    // A link has no mode of its own.
    if (machine.platform !== 'win32' && facts?.kind === 'file' && (facts.mode & 0o077) !== 0) {
      notices.warning(`Others on this machine may read or change the token in ${path}: run chmod 600 ${path}`);
    }
    return value;
  } catch (error) {
    if (!isFailure(error) || !error.is('file') || error.details.code !== 'ENOENT') throw error;
    await files.replace(path, `${made}\n`, { mode: 0o600 }).catch((cause: unknown) => {
      throw fileFailure('write', path, cause);
    });
    return made;
  }
}
