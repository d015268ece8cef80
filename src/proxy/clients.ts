/** The named clients of the proxy: their tokens, what each may do, and its share of the rate limit. */
import { hash, timingSafeEqual } from 'node:crypto';
import { Failure, fileFailed, usageFailure } from '../errors.ts';
import type { CommandContext } from '../session/globals.ts';
import { stateFolder } from '../session/paths.ts';
import { LONGEST_FILE } from '../serve/serve.ts';
import { readText } from '../session/read-text.ts';
import { takeLock } from '../state/lock.ts';

export interface Client {
  /** SHA-256 of the client's token. */
  readonly digest: Buffer;
  /** Absent for a client that is named by its User-Agent. */
  readonly name?: string;
  readonly isReadOnly?: boolean;
  /** Its share of the rate limit, at most 1. */
  readonly share?: number | undefined;
}

export function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** Returns the client with this bearer token. Compares in constant time. */
export function clientOf(authorization = '', clients: readonly Client[] = []): Client | undefined {
  const token = /^bearer +([^]*)$/i.exec(authorization)?.[1];
  if (token === undefined || clients.length === 0) return undefined;
  const given = digestOf(token);
  // The first byte of a digest reveals nothing about the token, and saves time with a thousand clients.
  return clients.filter(({ digest }) => digest[0] === given[0] && timingSafeEqual(digest, given))[0];
}

/** Parses a name: one word in the file, a person in the history, a label in the metrics. Undefined if it is not one. */
export function clientName(text: string): string | undefined {
  return /^[^\s\p{C}"\\#][^\s\p{C}"\\]{0,79}$/u.exec(text)?.[0];
}

/** Parses a share such as `10%`; undefined if it is not one. */
export function shareOf(text: string): number | undefined {
  return /^(?:[1-9]\d?|100)%$/.test(text) ? Number(text.slice(0, -1)) / 100 : undefined;
}

const LINE = /^\s*(\S+)\s+([0-9a-fA-F]{64})\s+(read|write)(?:\s+(\S+))?\s*$/;

/** Parses lines of name, token digest, `read` or `write`, and optional share. @throws {Failure} `file-unusable` */
export function readClients(text: string, path: string): Client[] {
  const clients: Client[] = [];
  for (const [i, line] of text.split('\n').entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue;
    const refused = (problem: string): Failure => new Failure('file-unusable', { path, line: i + 1, problem });
    const [, name = '', hex = '', may, percent] = LINE.exec(line) ?? [];
    const share = percent === undefined ? undefined : shareOf(percent);
    if (clientName(name) === undefined || (percent === undefined) !== (share === undefined)) {
      throw refused('is not: NAME, SHA-256 of the token in hex, read or write, and optionally a share such as 10%');
    }
    const digest = Buffer.from(hex, 'hex');
    if (clients.some((each) => each.name === name)) throw refused('has the name of an earlier line');
    if (clients.some((each) => each.digest.equals(digest))) throw refused('has the token of an earlier line');
    clients.push({ name, digest, isReadOnly: may === 'read', share });
  }
  return clients;
}

/** How long to wait for another process that adds a token, in ms. */
const PATIENCE_MS = 10_000;

/** Lets one process at a time create or extend a file of tokens. @throws {Failure} `run-locked` */
export function lockTokens(context: CommandContext): Promise<Disposable> {
  const path = `${stateFolder(context)}/locks/tokens.db`;
  return takeLock(context, path, PATIENCE_MS, () => 'another petstore process that adds a token');
}

/** Adds a client to a file, or creates it (mode 0600). @throws {Failure} `file`, `file-unusable`, `run-locked`, `usage` */
export async function addClient(
  context: CommandContext,
  path: string,
  { digest, name, isReadOnly, share }: Client & { readonly name: string },
): Promise<void> {
  using _lock = await lockTokens(context);
  const isThere = (await context.files.facts(path)) !== undefined;
  // A pipe would be read for ever.
  if (isThere && (await context.files.head(path, 1)) === undefined)
    throw new Failure('file-unusable', { path, problem: 'is not a plain file' });
  const before = isThere ? await readText(context, path, LONGEST_FILE) : '';
  if (readClients(before, path).some((each) => each.name === name)) {
    throw usageFailure(
      `${path} already has a token for ${name}.`,
      'Choose another name, or remove its line from the file first.',
    );
  }
  const words = [name, digest.toString('hex'), isReadOnly === true ? 'read' : 'write'];
  if (share !== undefined) words.push(`${Math.round(share * 100)}%`);
  const end = before === '' || before.endsWith('\n') ? '' : '\n';
  await writeSecret(context, path, `${before}${end}${words.join(' ')}\n`);
}

/** Writes a file that only its owner may read. @throws {Failure} `file` */
export function writeSecret({ files }: CommandContext, path: string, text: string): Promise<void> {
  return files.replace(path, text, { mode: 0o600 }).catch(fileFailed('write', path));
}
