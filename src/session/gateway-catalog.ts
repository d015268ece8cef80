/**
 * Shares the catalog in a chain of shops: a gateway (`petstore proxy`) serves its catalog, and terminals use it besides
 * their own. A terminal asks for it after a command that the gateway has answered, at most once a minute.
 */
import { isLine, parseInt64 } from '../api/values.ts';
import {
  integer,
  JsonError,
  type JsonObject,
  jsonObject,
  type JsonValue,
  parseJson,
  stringifyJson,
} from '../api/json.ts';
import type { ProvidedEntry } from '../catalog/store.ts';
import type { Service } from '../client/service.ts';
import { isFailure } from '../errors.ts';
import { DatabaseFailure, HttpFailure, type HttpReply } from '../ports.ts';
import { openCatalog, providedNote, storeProvided } from './open-catalog.ts';
import type { CommandContext } from './globals.ts';
import { collect } from './read-text.ts';

/** Path of the catalog, beside the base URL. */
export const CATALOG_PATH = '/__petstore/catalog';
const EVERY_MS = 60_000;
/** Time limit for the gateway, in ms: the user waits for the end of the command. */
const PATIENCE_MS = 2_000;
/** Most characters of a name. */
const LONGEST_NAME = 200;

/** Returns the gateway's answer; `body` undefined if the client already has it. */
export async function gatewayCatalog(
  context: CommandContext,
  origin: string,
  known: string | undefined,
): Promise<{ readonly etag: string; readonly body: string | undefined }> {
  using catalog = await openCatalog(context, origin);
  const etag = `"${catalog?.version() ?? ''}"`;
  // A server on the way that compresses makes it a weak one (RFC 9110, 13.1.2).
  if (known?.replace(/^W\//, '') === etag) return { etag, body: undefined };
  const pets = [...(catalog?.entries() ?? [])].flat();
  const entries = pets.map(({ petId, name, barcodes, min = null, target = null }) =>
    stringifyJson(jsonObject({ petId, name, barcodes: [...barcodes], min, target })),
  );
  return { etag, body: `[${entries.join(',\n')}]\n` };
}

/** Stores the gateway's catalog if it has changed. Never fails: --debug shows what went wrong. */
export async function refreshCatalog(context: CommandContext, origin: string, service: Service): Promise<void> {
  const { clock, notices } = context;
  try {
    const [checkedAt, etag] = (await providedNote(context, origin))?.split(' ') ?? [];
    const now = clock.now();
    if (Math.abs(now - Number(checkedAt)) < EVERY_MS) return;
    const reply = await ask(service, etag).catch((error: unknown) => {
      if (error instanceof HttpFailure) return undefined;
      throw error;
    });
    const [found] = reply?.status === 200 ? (reply.headers.get('etag') ?? []) : [];
    const entries = found === undefined || reply === undefined ? undefined : await read(reply, service.maxBodyBytes);
    await storeProvided(context, origin, [now, (entries === undefined ? etag : found) ?? []].flat().join(' '), entries);
  } catch (error) {
    if (!isFailure(error) && !(error instanceof DatabaseFailure || error instanceof HttpFailure)) throw error;
    notices.debug(`The gateway's catalog was not read: ${error.message}`);
  }
}

/** Requests the catalog without the gate, since the gateway answers this itself. @throws {HttpFailure} */
async function ask(
  { apiKey, baseUrl, http, signal, userAgent }: Service,
  etag: string | undefined,
): Promise<HttpReply> {
  const url = new URL(`..${CATALOG_PATH}`, `${baseUrl.href}/`);
  const common = { url, timeoutMs: PATIENCE_MS, signal };
  const connection = await http.connect(common);
  const headers = {
    accept: 'application/json',
    'accept-encoding': 'gzip, br',
    'user-agent': userAgent,
    authorization: `Bearer ${apiKey}`,
    ...(etag !== undefined && { 'if-none-match': etag }),
  };
  return connection.send({ ...common, method: 'GET', headers }, () => true);
}

/** Parses the entries; undefined if it is not a catalog. @throws {HttpFailure} */
async function read({ body }: HttpReply, mostBytes: number): Promise<readonly ProvidedEntry[] | undefined> {
  const bytes = await collect(body, mostBytes);
  try {
    const list = bytes && parseJson(bytes.toString('utf8'));
    const entries = Array.isArray(list) ? list.map(toEntry) : [undefined];
    return entries.every((each) => each !== undefined) ? entries : undefined;
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

function toEntry(value: JsonValue): ProvidedEntry | undefined {
  if (!(value instanceof Map)) return undefined;
  const [petId, name, barcodes] = [integer(value.get('petId')), value.get('name'), value.get('barcodes')];
  if (petId === undefined || parseInt64(petId.toString()) === undefined || typeof name !== 'string') return undefined;
  if (name !== '' && !isLine(name, LONGEST_NAME)) return undefined;
  const codes = Array.isArray(barcodes)
    ? barcodes.filter((code) => typeof code === 'string' && /^\d{14}$/.test(code))
    : [];
  return { petId, name, barcodes: codes as string[], min: levelIn(value, 'min'), target: levelIn(value, 'target') };
}

function levelIn(value: JsonObject, name: string): bigint | undefined {
  const level = integer(value.get(name));
  return level !== undefined && level >= 0n ? level : undefined;
}
