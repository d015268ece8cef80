/** JSON Schemas (2020-12) of everything that petstore prints as JSON. Tests check every output against them. */
import * as z from 'zod/mini';
import { schemaOf } from '../api/openapi.ts';
import { InventoryItemSchema, Int64 as id, Integer as number } from '../api/schemas.ts';
import { HEALTH } from '../doctor/diagnosis.ts';
import { EXIT, OUTCOMES } from '../errors.ts';
import { BLOCK_REASONS } from '../rate-limit/headers.ts';
import { FAILURE_KINDS } from '../report/failures.ts';
import { ENVIRONMENTS } from '../session/environments.ts';
import { VERDICTS } from '../smoke/finding.ts';
import { CAUSES, KINDS } from '../state/journal-rows.ts';
import { countStates } from '../stock/summary.ts';

const { object, optional, nullable: maybe, array, union, literal: is } = z;
const [text, flag, count, time] = [z.string(), z.boolean(), z.int(), z.iso.datetime()];
/** `staging`, or in a profile `berlin/staging`. */
const environment = union([
  z.enum(ENVIRONMENTS),
  z.string().check(z.regex(/^[a-z0-9_-]{1,32}\/(production|staging)$/)),
]);
const kind = z.enum(FAILURE_KINDS);
const exitCode = z.literal(Object.values(EXIT));
const why = z.enum(BLOCK_REASONS);
const state = z.enum(Object.keys(countStates([], 0)));

/** Allows unknown statuses and further fields, which are printed too. */
const pet = z.looseObject({ ...InventoryItemSchema.shape, status: text });
const changedPet = z.looseObject({ ...pet.shape, before: optional(number) });
const limit = { limit: count, remaining: count, resetAt: time };
const lost = object({ since: time, says: text, nextTry: time });
const ledger = maybe(object({ machines: count, lent: count, lost: maybe(lost) }));
const limits = {
  ...{ limit: maybe(count), remaining: maybe(count), resetAt: maybe(time), knownAt: maybe(time) },
  windows: array(object({ operation: text, ...limit })),
  block: maybe(object({ why, strikes: count, until: time, over: flag })),
  ...{ inFlight: array(object({ by: text, since: time })), ledger },
};
const request = { environment, method: text, url: text };
const before = optional(number);
const update = object({ dryRun: is(true), ...request, body: object({ quantity: number }), before });
const change = { petId: id, before: maybe(number), after: number };
const rowsOf = { applied: count, unchanged: count, conflicts: count, failed: count, unknown: count, left: count };
const run = object({ run: maybe(number), environment, ...rowsOf, report: maybe(text) });
const row = object({ event: is('row'), line: maybe(count), ...change, state, reason: maybe(text) });
const nothing = object({ applied: is(0) });
const sums = { environment, changes: count, plus: number, minus: number, net: number };
const summedBy = [{ cause: maybe(text) }, { petId: id }, { who: text }, { day: text }];
const setting = object({ setting: text, value: maybe(text) });
const active = object({ value: maybe(text), source: maybe(text), shadows: maybe(text) });
const served = { at: time, method: text, target: text, status: count, ms: z.number() };
const logged = { time, run: text };
const attempt = {
  ...{ method: text, url: text, status: optional(count), failure: optional(text), code: optional(text), ms: count },
  ...z.partial(object(limit)).shape,
};

/** Members of an object, or any other schema. */
type Shape = z.core.$ZodShape | z.core.$ZodType;

function schemaIn(shape: Shape): object {
  return schemaOf('_zod' in shape ? (shape as z.core.$ZodType) : object(shape));
}

/** @param description commands, or other places */
function one(description: string, shape: Shape): object {
  return { description, ...schemaIn(shape) };
}

/** Describes a list by its row: -o json prints an array of rows, -o ndjson one row per line. */
function rows(description: string, shape: Shape): object {
  const item = { $ref: '#/$defs/row' };
  return { description, anyOf: [{ type: 'array', items: item }, item], $defs: { row: schemaIn(shape) } };
}

const OUTPUTS: Readonly<Record<string, object>> = {
  error: one('the error on stderr', {
    error: object({
      ...{ kind, message: text, exitCode, status: optional(count), code: optional(text), retryable: flag },
      ...{
        retryAt: optional(time),
        outcome: optional(z.enum(OUTCOMES)),
        details: optional(array(text)),
        hint: optional(text),
      },
    }),
  }),
  notice: one(
    'other lines on stderr',
    union([
      ...['warning', 'info', 'debug'].map((name) => object({ [name]: object({ message: text }) })),
      object({ rateLimit: object(limit) }),
    ]),
  ),
  log: one(
    'lines of --log FILE',
    union([
      object({ ...logged, event: is('start'), version: text, command: text, options: array(text) }),
      object({ ...logged, event: is('attempt'), ...attempt }),
      object({ ...logged, event: is('end'), exitCode, error: optional(kind), ms: count }),
    ]),
  ),
  pets: rows('inventory list', pet),
  'pets-columns': rows(
    'inventory list --columns',
    z.looseObject({ ...z.partial(pet).shape, name: optional(text), order: before }),
  ),
  'pets-watch': one(
    'inventory list --watch',
    z.looseObject({
      ...{ at: time, event: z.enum(['listed', 'changed', 'appeared', 'gone']) },
      ...{ ...changedPet.shape, statusBefore: optional(text), order: optional(maybe(number)) },
    }),
  ),
  pet: one('inventory get, wait', pet),
  'changed-pet': one('inventory set, inventory adjust', changedPet),
  update: one('inventory set --dry-run, inventory adjust --dry-run', update),
  'status-sums': rows('inventory summary', { status: text, pets: count, quantity: number, outOfStock: count }),
  run: one('inventory import, inventory undo, inventory redo', run),
  'counted-run': one('inventory count, inventory runs resume', union([run, nothing, object({ run: number })])),
  due: rows('inventory count --due', { petId: id, name: maybe(text), quantity: number, counted: maybe(time) }),
  'edited-run': one('inventory edit, inventory browse', union([run, nothing])),
  plan: rows(
    ['import', 'count', 'edit', 'undo', 'redo', 'runs resume'].map((name) => `inventory ${name} --dry-run`).join(', '),
    {
      ...change,
      line: maybe(count),
      problem: maybe(text),
    },
  ),
  events: one('inventory import --events', union([row, object({ event: is('end'), ...run.shape })])),
  history: rows('inventory history', {
    ...{ change: number, when: maybe(time), who: text, environment, ...change, outcome: state, reason: maybe(text) },
    ...{ cause: maybe(z.enum(CAUSES)), note: maybe(text), command: text, run: maybe(number) },
  }),
  'history-sums': rows('inventory history --by', union(summedBy.map((by) => object({ ...by, ...sums })))),
  runs: rows('inventory runs', {
    ...{ run: number, kind: z.enum(KINDS), environment, started: time, done: count, left: count },
    ...{ conflicts: count, failed: count, state: z.enum(['unfinished', 'finished', 'discarded']), source: text },
  }),
  'discarded-run': one('inventory runs discard', { run: number, environment, discarded: count }),
  'imported-catalog': one('catalog import', { environment, imported: count }),
  catalog: rows('catalog list', {
    ...{ petId: id, name: text, barcodes: array(text), min: maybe(number), target: maybe(number) },
    source: z.enum(['local', 'service']),
  }),
  'catalog-pet': one('catalog set, catalog remove', { environment, petId: id }),
  limits: one('limits', { environment, ...limits }),
  status: one('status', {
    ...{ environment: active, baseUrl: active, apiKey: active },
    config: object({ path: text, exists: flag, private: flag }),
    rateLimit: maybe(object(limits)),
    unfinished: array(object({ run: number, kind: z.enum(KINDS), environment, left: count, resume: text })),
  }),
  version: one('version', { version: text }),
  diagnosis: rows('doctor', { check: text, health: z.enum(HEALTH), says: text, fix: maybe(text) }),
  smoke: one('smoke', {
    ...{ suite: text, startedAt: time, passed: count, failed: count, skipped: count },
    checks: array(
      object({
        ...{ id: text, title: text, contract: maybe(text), verdict: z.enum(VERDICTS), problem: maybe(text), ms: count },
        ...{ request: maybe(text), status: maybe(count), headers: z.record(text, text) },
      }),
    ),
  }),
  'smoke-checks': rows('smoke --list', { id: text, title: text }),
  request: one('api --dry-run', { dryRun: is(true), ...request, body: maybe(text) }),
  login: one('login', { environment, baseUrl: text, verified: flag, config: text }),
  logout: one('logout', { loggedOut: array(text) }),
  setting: one('config get, config set, config unset', setting),
  settings: rows('config list', setting),
  profiles: rows('config profiles', {
    profile: text,
    environment: maybe(text),
    production: maybe(text),
    staging: maybe(text),
  }),
  'config-file': one('config path', { path: text }),
  proxy: one('proxy', { baseUrl: text, environment, token: optional(text), tokenFile: optional(text) }),
  'proxy-token': one('proxy token add', { name: text, token: text, tokens: text }),
  'proxy-log': one('lines of proxy --log FILE', {
    id: text,
    ...served,
    waitedMs: count,
    client: text,
    error: optional(text),
  }),
  'proxy-status': one('/__petstore/status of the proxy', {
    ...{ environment, baseUrl: text, queue: count, inFlight: count, rateLimit: maybe(object(limit)), ledger },
    block: maybe(object({ why, until: time })),
  }),
  sandbox: one('sandbox serve', { baseUrl: text, apiKey: text, command: text, login: text, page: text }),
  'sandbox-log': one('lines of sandbox serve --log FILE', {
    ...{ id: count, ...served, ...z.partial(object({ limit: count, remaining: count, retryAfter: count })).shape },
    ...{ reason: optional(text), faults: optional(array(text)) },
  }),
  'sandbox-pets': one('sandbox seed, sandbox reset', { pets: count, file: text }),
  'sandbox-status': one('sandbox status', { file: text, pets: count, addedKeys: count, bytes: maybe(count) }),
  'sandbox-keys': rows('sandbox keys', {
    ...{ key: text, minuteUsed: count, dayUsed: count, early: count },
    ...{ blockedUntil: maybe(time), bannedUntil: maybe(time) },
  }),
  'exit-codes': rows('help exit-codes', { code: text, meaning: text, then: text }),
  schemas: rows('help schemas', { schema: text, of: text }),
};

/** Returns schemas.json: all schemas by name, one per line. */
export function schemas(): string {
  const lines = Object.entries(OUTPUTS).map(([title, schema]) => {
    const head = { $schema: 'https://json-schema.org/draft/2020-12/schema', title };
    return `${JSON.stringify(title)}:${JSON.stringify({ ...head, ...schema })}`;
  });
  return `{\n${lines.join(',\n')}\n}\n`;
}
