/**
 * Shares the catalog in a chain of shops: a gateway (`petstore proxy`) serves its catalog, and terminals use it besides
 * their own. A terminal asks for it after a command that the gateway has answered, at most once a minute.
 */
import { isLine, parseInt64 } from '../api/values.ts';
import { integer, jsonObject, type JsonValue, stringifyJson } from '../api/json.ts';
import type { ProvidedEntry } from '../catalog/store.ts';
import { probe, type Reply } from '../client/raw.ts';
import type { Service } from '../client/service.ts';
import { isFailure } from '../errors.ts';
import { DatabaseFailure } from '../ports.ts';
import { openCatalog, providedNote, storeProvided } from './open-catalog.ts';
import type { CommandContext } from './globals.ts';

/** Path of the catalog, beside the base URL. */
export const CATALOG_PATH = '/__petstore/catalog';
const EVERY_MS = 60_000;
/** Time limit for the gateway, in ms: the user waits for the end of the command. */
const PATIENCE_MS = 2_000;
/** Most characters of a name. */
const LONGEST_NAME = 200;

/** Returns the gateway's answer; `body` undefined if the client already has it. */
export async function gatewayCatalog(context: CommandContext, origin: string, known: string | undefined) {
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
    const [checkedAt, known] = (await providedNote(context, origin))?.split(' ') ?? [];
    const now = clock.now();
    if (Math.abs(now - Number(checkedAt)) < EVERY_MS) return;
    const { headers, json, status } = await ask(service, known);
    const entries = status === 200 && Array.isArray(json) ? json.map(toEntry) : [undefined];
    const isCatalog = entries.every((each) => each !== undefined);
    const etag = isCatalog ? headers.get('etag')?.[0] : known;
    await storeProvided(context, origin, [now, etag ?? []].flat().join(' '), isCatalog ? entries : undefined);
  } catch (error) {
    if (!isFailure(error) && !(error instanceof DatabaseFailure)) throw error;
    notices.debug(`The gateway's catalog was not read: ${error.message}`);
  }
}

/** The gateway answers this itself: the rate limit does not count it. */
const NO_GATE: Service['gate'] = {
  async enter(_operation, connect) {
    const noted = (): Promise<undefined> => Promise.resolve(undefined);
    return { connection: await connect(), ticket: { isFresh: () => true, answered: noted, lost: noted } };
  },
};

function ask(service: Service, etag: string | undefined): Promise<Reply> {
  const { userAgent } = service;
  const baseUrl = new URL('..', `${service.baseUrl.href}/`);
  const headers = { 'user-agent': userAgent, ...(etag !== undefined && { 'if-none-match': etag }) };
  const patient = { ...service, baseUrl, gate: NO_GATE, timeoutMs: PATIENCE_MS, retryForMs: 0 };
  return probe(patient, { method: 'GET', path: CATALOG_PATH.slice(1), headers });
}

function toEntry(value: JsonValue): ProvidedEntry | undefined {
  const pet = value instanceof Map ? value : new Map<string, JsonValue>();
  const [petId, min, target] = ['petId', 'min', 'target'].map((name) => integer(pet.get(name)));
  const [name, barcodes] = [pet.get('name'), pet.get('barcodes')];
  if (petId === undefined || parseInt64(`${petId}`) === undefined || typeof name !== 'string') return undefined;
  if (name !== '' && !isLine(name, LONGEST_NAME)) return undefined;
  const codes = Array.isArray(barcodes) ? barcodes.map(String).filter((code) => /^\d{14}$/.test(code)) : [];
  return { petId, name: name.trim(), barcodes: codes, min, target };
}
