/** A service that repeats the key in everything it sends, and functions that find the key where it must not be. */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { listenOnLoopback } from './cleanup.ts';

/** Letters, quotes, and characters special to JSON, XML, URLs and shells; no part of it is a word of the program. */
export const CANARY = String.raw`Canary&7f<3b>"9dKq8Z'2e\5aVx/0p%41Lm-Wy`;

const JSON_FORM = JSON.stringify(CANARY).slice(1, -1);
const FORMS: readonly string[] = [
  CANARY,
  JSON_FORM,
  JSON.stringify(JSON_FORM).slice(1, -1),
  encodeURIComponent(CANARY),
  CANARY.replaceAll('"', '""'),
  CANARY.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
];
const BASE64 = Buffer.from(`Bearer ${CANARY}`).toString('base64');

/** Must never appear raw in output: ESC, the end of OSC, C1, bidi overrides. */
const RAW = '\u001b[31m\u001b]0;title\u0007\u009b\u202e';

/** A text with every form of the key, which a spreadsheet would run and a terminal would obey. */
const TEXT = `=1+1 ${FORMS.join(' ')} ${BASE64} ${RAW}`;

/** `echo` behaves well except for its texts. The others define the answer to each PATCH, or to every request. */
export type Mode =
  'echo' | 'refuse' | 'page' | 'fail' | 'redirect' | 'unauthorized' | 'forbidden' | 'bad-row' | 'no-list';

export interface EchoService {
  readonly baseUrl: string;
  mode: Mode;
}

export async function echoService(): Promise<EchoService> {
  const service = { baseUrl: '', mode: 'echo' as Mode };
  const stock = new Map([7, 8, 9, 10].map((petId) => [petId, petId]));
  const server = createServer((req, res) => {
    answer(service.mode, stock, req, res).catch(() => res.destroy());
  });
  service.baseUrl = `http://127.0.0.1:${await listenOnLoopback(server)}/v1`;
  return service;
}

type Answer = readonly [status: number, body: unknown, headers?: Record<string, string>];

async function answer(
  mode: Mode,
  stock: Map<number, number>,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  let sent = '';
  for await (const chunk of req) sent += String(chunk);
  const [status, body, headers] = answerOf(mode, stock, req, sent);
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  res.writeHead(status, { ...standardHeaders(), ...headers });
  // Sends two pieces, cut inside the key.
  const cut = text.indexOf(CANARY.slice(0, 8)) + 10;
  res.write(text.slice(0, cut));
  await new Promise((resolve) => setImmediate(resolve));
  res.end(text.slice(cut));
}

function answerOf(mode: Mode, stock: Map<number, number>, req: IncomingMessage, sent: string): Answer {
  const error = (status: number): Answer => [status, { code: TEXT, message: TEXT, status, [CANARY]: TEXT }];
  const page: Answer = [
    400,
    `<html><p title="${TEXT}">${TEXT}</p></html>`,
    { 'Content-Type': `text/plain; x=${CANARY}` },
  ];
  if (mode === 'unauthorized') return error(401);
  if (mode === 'forbidden') return error(403);
  if (mode === 'fail') return error(500);
  if (mode === 'redirect') return [302, '', { Location: `https://${encodeURIComponent(CANARY)}.example/${CANARY}` }];
  const petId = Number(/\/inventory\/(\d+)$/.exec(req.url ?? '')?.[1]);
  if (req.method === 'PATCH') {
    if (mode === 'refuse') return error(400);
    if (mode === 'page') return page;
    if (!stock.has(petId)) return error(404);
    stock.set(petId, (JSON.parse(sent) as { quantity: number }).quantity);
    return [200, itemOf(petId, stock.get(petId) ?? 0)];
  }
  if (!/\/inventory$/.test(req.url ?? '')) return error(404);
  if (mode === 'page') return page;
  if (mode === 'no-list') return [200, `[{"petId":7,"quantity":7,"status":"x"}, ${CANARY}`];
  const items: unknown[] = [...stock].map(([id, quantity]) => itemOf(id, quantity));
  return [200, mode === 'bad-row' ? [...items, { petId: TEXT, quantity: 1, status: 'sold' }] : items];
}

function itemOf(petId: number, quantity: number): unknown {
  return { petId, quantity, status: TEXT, [CANARY]: TEXT, more: { [TEXT]: [TEXT] } };
}

function standardHeaders(): Record<string, string> {
  return {
    'Content-Type': `application/json; profile=${CANARY}`,
    'X-RateLimit-Limit': '6000',
    'X-RateLimit-Remaining': '5999',
    'X-RateLimit-Reset': `${Math.floor(Date.now() / 1_000) + 60}`,
    'RateLimit-Policy': CANARY,
    Location: `/${CANARY}`,
    'Retry-After': CANARY,
    Deprecation: CANARY,
    Sunset: CANARY,
    Link: `<https://pets.example/${encodeURIComponent(CANARY)}>; rel="sunset"`,
    'X-Canary-7f': CANARY,
    'Set-Cookie': `session=${CANARY}`,
  };
}

/** Returns 12-character pieces of the key that are in the text; a terminal may have broken the key anywhere. */
export function piecesIn(text: string): string[] {
  const joined = text.replace(/[\s│]/g, '').toLowerCase();
  // Base64 without its ends, which also depend on neighbouring bytes.
  const pieces = [...FORMS, BASE64.slice(12, -4)].flatMap((form) =>
    Array.from({ length: form.length - 11 }, (_, i) => form.slice(i, i + 12).toLowerCase()),
  );
  return pieces.filter((piece) => joined.includes(piece) || text.toLowerCase().includes(piece));
}

/** Returns the files below a folder with a piece of the key. */
export function filesWithPieces(folder: string): string[] {
  return filesBelow(folder).filter((path) => piecesIn(readFileSync(path, 'latin1')).length > 0);
}

export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Returns characters that a terminal would obey. */
export function rawControls(text: string): string[] {
  // eslint-disable-next-line no-control-regex -- control characters are the point
  return [...new Set(text.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g))];
}
