import { defineCommand, option } from '../cli/command.ts';
import { countValue, pathValue, sandboxKeyValue } from '../value-parsers.ts';
import { storeProvided } from '../session/open-catalog.ts';
import { dataFile, readPets } from '../serve/data-file.ts';
import { Failure, usageFailure } from '../errors.ts';
import { windowsOf } from '../sandbox/limiter.ts';
import { PLANS, SANDBOX_KEY } from '../sandbox/plans.ts';
import { openStore } from '../sandbox/sandbox-store.ts';
import { generatedPets, seedCatalog } from '../sandbox/seed.ts';
import { withWritableJournal } from '../stock/open-journal.ts';
import { confirmation, labelled, list } from '../view/view.ts';
import { plural } from '../view/words.ts';

const data = option('--data <file>', pathValue, "the sandbox's file (default: that of --env sandbox)");

export const sandboxReset = defineCommand({
  path: 'sandbox reset',
  summary: 'Reset the sandbox to its initial 25 pets, with no usage, bans, added keys or history',
  description: 'The history is that of --env sandbox: with --data, it stays.',
  examples: { 'Before a training': 'petstore sandbox reset' },
  options: { data },
  async run({ data }, context) {
    const file = dataFile(context, data);
    using store = await openStore(context, file);
    const pets = await store.exclusively(() => {
      store.reset();
      for (const key of store.keys()) store.removeKey(key);
      return store.count();
    });
    const text = `Sandbox reset: ${pets} pets, no usage, no bans, no added keys`;
    if (data !== undefined) return confirmation(`${text}.`, { pets, file: file.file });
    // Earlier changes can no longer be undone.
    await withWritableJournal(context, (journal) => journal.forget('sandbox'));
    await storeProvided(context, 'sandbox', 'sandbox', seedCatalog());
    return confirmation(`${text}, no history.`, { pets, file: file.file });
  },
});

export const sandboxSeed = defineCommand({
  path: 'sandbox seed',
  summary: "Replace the sandbox's pets",
  description:
    'Generated pets are the same each time. A file has the format of petstore inventory list --json or -o ndjson.',
  examples: {
    'Ten thousand generated pets': 'petstore sandbox seed --pets 10000',
    'The stock of staging':
      'petstore --env staging inventory list --json > stock.json && petstore sandbox seed --file stock.json',
  },
  options: {
    pets: option('--pets <count>', countValue(), 'this number of generated pets', { conflicts: ['file'] }),
    file: option('--file <file>', pathValue, 'the pets of a file'),
    data,
  },
  async run({ pets, file: from, data }, context) {
    if (pets === undefined && from === undefined) {
      throw usageFailure('Which pets? Use --pets COUNT or --file FILE.');
    }
    const others = pets === undefined ? await readPets(context, from ?? '') : generatedPets(pets);
    const file = dataFile(context, data);
    using store = await openStore(context, file);
    const count = await store.exclusively(() => {
      store.replacePets(others);
      return store.count();
    });
    if (data === undefined) {
      // The sandbox's own catalog does not describe the pets of a file.
      await storeProvided(context, 'sandbox', 'sandbox', pets === undefined ? [] : seedCatalog());
    }
    return confirmation(`The sandbox has ${plural(count, 'pet')} now.`, { pets: count, file: file.file });
  },
});

export const sandboxStatus = defineCommand({
  path: 'sandbox status',
  summary: 'Show the size of the sandbox, without a request',
  examples: { 'Where it is and what is in it': 'petstore sandbox status' },
  options: { data },
  async run({ data }, context) {
    // Without `notices`, a damaged file is not moved aside.
    const { file } = dataFile(context, data);
    const facts = await context.files.facts(file);
    using store = facts && (await openStore(context, { file }));
    const [pets, keys] = [store?.count() ?? 0, store?.keys().length ?? 0];
    const lines = [
      ['file', facts === undefined ? `${file} (not there yet: the first command creates it)` : file],
      ['pets', String(pets)],
      ['added keys', String(keys)],
      ['bytes', facts === undefined ? '-' : String(facts.size)],
    ] as const;
    return labelled(lines, { file, pets, addedKeys: keys, bytes: facts?.size ?? null });
  },
});

export const sandboxKeys = defineCommand({
  path: 'sandbox keys',
  summary: "List the sandbox's keys and their usage; add or remove one",
  description: 'The keys are made up, for the sandbox only: never give it a real one.',
  examples: {
    'All keys': 'petstore sandbox keys',
    'A second till': 'petstore sandbox keys --add till-2',
  },
  options: {
    add: option('--add <key>', sandboxKeyValue, 'another key'),
    remove: option('--remove <key>', sandboxKeyValue, 'a key that was added'),
    data,
  },
  async run({ add, remove, data }, context) {
    const now = context.clock.now();
    using store = await openStore(context, { file: dataFile(context, data).file });
    const rows = await store.exclusively(() => {
      if (add !== undefined && add !== SANDBOX_KEY) store.addKey(add);
      if (remove !== undefined && !store.removeKey(remove)) {
        throw new Failure('invalid-value', { name: '--remove', value: remove, expected: 'a key that was added' });
      }
      return [SANDBOX_KEY, ...store.keys()].map((key) => {
        const allowance = store.allowance(key);
        return { ...allowance, ...windowsOf(allowance, PLANS.free, now), key };
      });
    });
    const later = (at: number): Date | undefined => (at <= now ? undefined : new Date(at));
    return list(rows, {
      key: ({ key }) => key,
      minuteUsed: ({ minute }) => minute.used,
      dayUsed: ({ day }) => day.used,
      early: ({ early }) => early,
      blockedUntil: ({ blockedUntil }) => later(blockedUntil),
      bannedUntil: ({ bannedUntil }) => later(bannedUntil),
    });
  },
});
