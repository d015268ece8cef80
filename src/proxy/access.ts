/** Decides who may use the proxy: programs of this machine that know its token, and no web page. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isOneOf } from '../api/values.ts';
import { isWrite } from '../client/classify.ts';
import { METHODS } from '../client/service.ts';
import { isOurs, type Refusal } from '../http/server.ts';
import { isLooping, pathBelowBase } from './messages.ts';
import { Failure, fileFailure, isFailure } from '../errors.ts';
import type { CommandContext } from '../session/globals.ts';
import { readText } from '../session/read-text.ts';

export interface Access {
  /** One of them has to be sent, as `bearerHash` returns it; undefined: no token is asked for. */
  readonly tokens: readonly Buffer[] | undefined;
  readonly isReadOnly: boolean;
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
  if (!isOneOf(METHODS, method)) return [501, 'unknown_method', `The proxy does not pass on ${method}.`];
  if (isOwnPath(url)) return method === 'GET' ? undefined : [405, 'method_not_allowed', 'Allowed here: GET.'];
  if (pathBelowBase(url) === undefined) {
    return [404, 'not_found', 'The proxy passes on paths below /v1, without dot segments.'];
  }
  if (isReadOnly && isWrite(method)) {
    return [405, 'read_only', 'This proxy was started with --read-only. Allowed: GET, HEAD, OPTIONS.'];
  }
  return undefined;
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
