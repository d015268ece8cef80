/** `inventory set` and `inventory adjust`: reads one pet's quantity, writes the new one, and shows and records both. */
import { type InventoryItem, itemToJson, warnOfUnexpected } from '../api/item.ts';
import { parseJson } from '../api/json.ts';
import { barcodeIn } from '../catalog/barcode.ts';
import { isRecent, readPet, updateCall } from '../client/update.ts';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { catalogOrigin, openCatalog, tableNames } from '../session/open-catalog.ts';
import { assertWriteAllowed, canAsk, requireBaseUrl, undoLine } from '../session/resolve.ts';
import { Failure, isFailure, midway, usageFailure } from '../errors.ts';
import { capital, changeWords, petLabel, visible } from '../view/words.ts';
import { confirmation, record, type RecordView } from '../view/view.ts';
import { openWritable } from './open-journal.ts';
import { type LockedPet, updateOne, withFreshPet, withWriter, type Writer } from './write-one.ts';

/** Longest waits after the first and after later attempts, in ms: another machine's change takes two requests. */
const BACKOFF_MS = 250;
const LATER_BACKOFF_MS = 1_000;

export type PetChange = {
  readonly petId: bigint;
  /** The quantity that the caller believes the pet has. */
  readonly expect?: bigint;
  readonly allowNegative?: boolean;
  readonly dryRun?: boolean;
} & (
  | { readonly quantity: bigint; /** Default: at a terminal. */ readonly readFirst?: boolean }
  | { readonly delta: bigint }
);

/**
 * @throws {Failure} `usage`: a barcode; `pet-not-found`, `precondition-failed`, `below-zero`, `run-locked`, and see
 * assertWriteAllowed, openWritable, connect and updateOne
 */
export async function changePet(context: CommandContext, change: PetChange): Promise<RecordView> {
  const isSet = 'quantity' in change;
  const typed = String(isSet ? change.quantity : change.delta).replace('-', '');
  // A scanner types a barcode wherever the cursor is. No barcode has fewer digits.
  if (context.globals.input && typed.length >= 8) {
    using catalog = await openCatalog(context, await catalogOrigin(context));
    // A script may mean any number, but not one that is on a label of the shop.
    const barcode = canAsk(context) ? barcodeIn(typed, catalog) : catalog?.ownerOf(typed) && typed;
    const hint = `If it is the quantity, add --no-input${isSet && canAsk(context) ? ' --read-first' : ''}.`;
    if (barcode !== undefined) throw usageFailure(`${barcode} is a barcode; nothing was changed.`, hint);
  }
  if (change.dryRun === true) return dryRun(context, change);
  await assertWriteAllowed(context);
  await context.target();
  // Before the session, which warns if the rate limit cannot be shared: without a state folder nothing is sent.
  const state = await openWritable(context);
  await using session = await connect(context);
  const name = (await tableNames(context, session.origin, [change]))?.get(change.petId);
  const work = async (writer: Writer): Promise<RecordView> => {
    const { clock, random, signal } = context;
    const from = clock.monotonic();
    for (let attempts = 1; ; attempts++) {
      try {
        return await withFreshPet(writer, change.petId, (pet, freshMs) => readAndWrite(pet, change, name, freshMs));
      } catch (error) {
        if (isSet || change.expect !== undefined || !isFailure(error) || !error.is('precondition-failed')) throw error;
        // Another machine has changed the pet: it is read again.
        const waitedMs = clock.monotonic() - from;
        if (waitedMs >= session.service.maxWaitMs)
          throw new Failure('run-locked', { what: `another change of pet ${change.petId}`, waitedMs });
        await clock.sleep(random() * (attempts === 1 ? BACKOFF_MS : LATER_BACKOFF_MS), signal);
      }
    }
  };
  return await withWriter(context, session, work, { openState: () => Promise.resolve(state) });
}

async function readAndWrite(pet: LockedPet, change: PetChange, name: string | undefined, freshMs: number) {
  const { context, session } = pet;
  const { petId } = change;
  const { environment } = session;
  const isSet = 'quantity' in change;
  const found = isBlind(context, change) ? undefined : await readPet(session.service, petId, change.expect);
  const before = found?.quantity;
  const isCurrent = before === undefined ? undefined : isRecent(context, freshMs);
  const after = goalOf(change, found);
  if (found !== undefined && before === after) {
    const why = isSet ? `${petLabel(petId, name)} already has ${after} in ${environment}` : 'the adjustment is 0';
    return changed(context, `Nothing to do: ${why}.`, found, before);
  }
  const command = isSet ? 'inventory set' : 'inventory adjust';
  const item = await updateOne(pet, { command, petId, before, after }, { isCurrent }).catch((error: unknown) => {
    throw isFailure(error) && before !== undefined ? midway(error) : error;
  });
  const text =
    before === undefined
      ? `${capital(petLabel(petId, name))} in ${environment}: quantity set to ${after} (status ${visible(item.status)}).`
      : `${changeWords({ petId, before, after }, name)} in ${environment}.${await undoLine(context)}`;
  return changed(context, text, item, before);
}

/** True for a change that is sent without a read, as scripts want: one request. */
function isBlind(context: CommandContext, change: PetChange): boolean {
  return 'quantity' in change && change.expect === undefined && !(change.readFirst ?? canAsk(context));
}

/** @throws {Failure} `below-zero` */
function goalOf(change: PetChange, item: InventoryItem | undefined): bigint {
  if ('quantity' in change) return change.quantity;
  const { petId, delta, allowNegative } = change;
  const found = item?.quantity ?? 0n;
  const after = found + delta;
  if (after < 0n && delta !== 0n && allowNegative !== true) throw new Failure('below-zero', { petId, found, delta });
  return after;
}

async function dryRun(context: CommandContext, change: PetChange): Promise<RecordView> {
  const settings = await context.settings();
  const environment = settings.environment.value;
  const { petId } = change;
  await using session = isBlind(context, change) ? undefined : await connect(context);
  const found = session && (await readPet(session.service, petId, change.expect));
  const before = found?.quantity;
  const after = goalOf(change, found);
  const { method, path, body } = updateCall({ petId, quantity: after });
  const url = `${requireBaseUrl(settings, context.globals).href}${path}`;
  const members = { environment, method, url, body: parseJson(body), ...(before !== undefined && { before }) };
  const name = session && (await tableNames(context, session.origin, [change]))?.get(petId);
  const shown = before === undefined ? '' : `${changeWords({ petId, before, after }, name)} in ${environment}.\n`;
  return record(
    `${shown}Dry run in ${environment}: ${before === undefined ? 'nothing' : 'no write'} is sent.\n${method} ${url}\n${body}`,
    { dryRun: true, ...members },
    { csv: members },
  );
}

function changed(
  { notices }: CommandContext,
  text: string,
  item: InventoryItem,
  before: bigint | undefined,
): RecordView {
  warnOfUnexpected([item], notices);
  const { petId, quantity, status } = item;
  const csv = Object.entries({ petId, before: before ?? '', quantity, status });
  const members = [...itemToJson(item)];
  return confirmation(text, before === undefined ? members : [...members, ['before', before]], { csv });
}
