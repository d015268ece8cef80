/** Redaction of secrets in texts, and in the ports that commands get. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../src/api/json.ts';
import { HttpFailure, type HttpReply } from '../src/ports.ts';
import { Secrets } from '../src/redact.ts';
import { redactedPorts } from '../src/cli/redacted-ports.ts';
import { createTestContext } from './support/test-context.ts';

const KEY = String.raw`sk-"<Canary>&'7f3b\9d/2e+5a%`;

/** How a text may be spelled. */
const SPELLINGS: Readonly<Record<string, (text: string) => string>> = {
  raw: (text) => text,
  JSON: (text) => JSON.stringify(text).slice(1, -1),
  'JSON with slashes escaped': (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
  'JSON inside JSON': (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
  'JSON, all of it escaped': (text) => each(text, (code) => `\\u${code.toString(16).padStart(4, '0')}`),
  'JSON, in capitals': (text) => each(text, (code) => `\\u00${code.toString(16).toUpperCase().padStart(2, '0')}`),
  URL: encodeURIComponent,
  'URL, all of it escaped': (text) => each(text, (code) => `%${code.toString(16).padStart(2, '0')}`),
  CSV: (text) => text.replaceAll('"', '""'),
  XML: (text) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
  'XML by number': (text) => each(text, (code) => `&#${code};`),
  base64: (text) => Buffer.from(`Bearer ${text}`).toString('base64'),
  'lower case': (text) => text.toLowerCase(),
};

function each(text: string, spell: (code: number) => string): string {
  return Array.from(text)
    .map((character) => spell(character.charCodeAt(0)))
    .join('');
}

function secretsOf(...values: string[]): Secrets {
  const secrets = new Secrets();
  for (const value of values) secrets.add(value);
  return secrets;
}

const visibleAscii = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 6,
  maxLength: 150,
});

describe('a secret in a text', () => {
  it.each(Object.entries(SPELLINGS))('is found as %s', (_name, spell) => {
    expect(secretsOf(KEY).redact(`the key ${spell(KEY)} is wrong`)).toMatch(
      /^the key \S{0,12}\[redacted\]\S{0,12} is wrong$/,
    );
  });

  it.each([65, 127])('of %i characters is found whole: no single one is redacted', (length) => {
    const key = 'ab'.repeat(length).slice(0, length);
    expect(secretsOf(key).redact(`ab ${key} b`)).toBe('ab [redacted] b');
  });

  it.each(['\\'.repeat(40), '"'.repeat(40), `\\\\\\secret`, `"""secret`])('that begins with a run: %s', (key) => {
    for (const [name, spell] of Object.entries(SPELLINGS)) {
      for (const before of ['', 'x', '\\', '\\'.repeat(3), '"', `x""`]) {
        const redacted = secretsOf(key).redact(`${before}${spell(key)}.`);
        expect([name, before, redacted]).toEqual([name, before, expect.stringMatching(/\[redacted\]\S{0,12}\.$/)]);
      }
    }
  });

  it('is found in a large text as well as in a small one', () => {
    const text = `${'x'.repeat(100_000)}${encodeURIComponent(KEY)}`;
    expect(secretsOf(KEY).redact(text)).toBe(`${'x'.repeat(100_000)}[redacted]`);
  });

  it('is found whatever it is, and however each character is spelled', () => {
    const spelling = fc.constantFrom(...['raw', 'JSON, all of it escaped', 'URL, all of it escaped', 'XML by number']);
    fc.assert(
      fc.property(visibleAscii, fc.infiniteStream(spelling), (key, spellings) => {
        fc.pre(!/^[-+.0-9eE]+$/.test(key) && !/["\\]/.test(key));
        const mixed = Array.from(key)
          .map((character) => SPELLINGS[spellings.next().value as string]!(character))
          .join('');
        expect(secretsOf(key).redact(`a ${mixed} b`)).toMatch(/^a (\[redacted\])+ b$/);
      }),
    );
  });

  it('is found as JSON writes it, which stays JSON', () => {
    fc.assert(
      fc.property(visibleAscii, (key) => {
        fc.pre(!/^[-+.0-9eE]+$/.test(key));
        const text = JSON.stringify({ status: `a ${key} b` });
        expect(JSON.parse(secretsOf(key).redact(text))).toEqual({
          status: expect.stringMatching(/^a (\[redacted\])+ b$/) as string,
        });
      }),
    );
  });

  it('takes no longer where the text was made to be hard', () => {
    const key = `${'\\'.repeat(20)}${'"'.repeat(20)}x`;
    const text = `${'\\'.repeat(50_000)}${'"'.repeat(50_000)}`;
    expect(secretsOf(key).redact(text)).toHaveLength(100_000);
  });

  it.each(['abc', '1234567890', '-12.5e10', 'quantity', 'sandbox', 'staging', 'petstore', ''])(
    '%j cannot be distinguished from a text of our own',
    (secret) => {
      const text = '{"petId":1234567890,"quantity":-12.5e10,"abc":"sandbox","in":"staging","at":"~/.config/petstore"}';
      expect(secretsOf(secret).redact(text)).toBe(text);
    },
  );
});

async function* inPieces(bytes: Uint8Array, size: number, fails: boolean): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  if (fails) throw new HttpFailure({ phase: 'body-cut', mayHaveBeenSent: true, peer: '', code: '', detail: '' });
}

/** What a command sees of an answer to a request with that key. */
async function received(
  key: string,
  reply: { body?: string; headers?: HttpReply['headers'] },
  size: number | 'whole' = 1_000,
  fails = false,
) {
  const bytes = Buffer.from(reply.body ?? '');
  const context = createTestContext({
    http: () => ({
      status: 200,
      headers: reply.headers ?? new Map(),
      body: size === 'whole' ? [bytes] : inPieces(bytes, size, fails),
    }),
  });
  const http = await redactedPorts(context, new Secrets()).openHttp();
  const url = new URL('https://pets.example/v1/inventory');
  const connection = await http.connect({ url, timeoutMs: 1 });
  const request = {
    method: 'GET',
    url,
    target: url.pathname,
    headers: { authorization: `Bearer ${key}` },
    timeoutMs: 1,
  } as const;
  const { headers, body } = await connection.send(request, () => true);
  const chunks: Uint8Array[] = [];
  let failed = false;
  try {
    for await (const chunk of body) chunks.push(chunk);
  } catch {
    failed = true;
  }
  return { headers, text: Buffer.concat(chunks).toString(), failed };
}

describe('fault 118: what the service says reaches no command with the key in it', () => {
  it.each([1, 2, 7, 30, 64, 1_000, 'whole'] as const)('in pieces of %s bytes', async (size) => {
    for (const spell of Object.values(SPELLINGS)) {
      const body = `[{"petId":7,"status":"é ${JSON.stringify(spell(KEY)).slice(1, -1)} ü"}]`;
      const { text } = await received(KEY, { body }, size);
      expect(text).toMatch(/^\[\{"petId":7,"status":"é \S{0,12}\[redacted\]\S{0,12} ü"\}\]$/);
    }
  });

  it('however long it becomes when it is encoded', async () => {
    const key = `a${'"'.repeat(11)}b`;
    const quote = String.raw`\\\\\\\"`;
    const body = `[{"petId":7,"status":"${key.replaceAll('"', quote + quote)}"}]`;
    expect((await received(key, { body }, 1)).text).toBe('[{"petId":7,"status":"[redacted]"}]');
  });

  it('in long pieces, also across the end of one', async () => {
    const filling = 'é '.repeat(8_000);
    for (const spell of Object.values(SPELLINGS)) {
      const spelled = spell(KEY);
      for (const cut of [0, 1, Math.floor(spelled.length / 2), spelled.length - 1, spelled.length]) {
        const body = `${filling.slice(0, 6_666)}${spelled}${filling}`;
        const size = Buffer.byteLength(filling.slice(0, 6_666)) + cut;
        expect((await received(KEY, { body }, size)).text).toMatch(
          /^[é ]{6666}\S{0,12}\[redacted\]\S{0,12}[é ]{16000}$/,
        );
      }
    }
  });

  it.each([97, 5_000])('a body without it comes through byte for byte, also where it breaks off (%i)', async (size) => {
    const body = '{"petId":9223372036854775807,"status":"ünïcode \\u00e9 %41 &#65;"},'.repeat(300);
    const plain = '{"petId":9223372036854775807,"status":"ünïcode"},'.repeat(300);
    for (const each of [body, plain]) {
      expect((await received(KEY, { body: each }, size)).text).toBe(each);
      expect(await received(KEY, { body: each }, size, true)).toMatchObject({ text: each, failed: true });
    }
  });

  it.each(['7', '12', '1234567890', '-5', 'ok', 'abc', 'null', '":"', '},{'])(
    'a key such as %s is redacted in strings, and no number or punctuation is touched',
    async (key) => {
      const quoted = JSON.stringify(key).slice(1, -1);
      const body = `[{"petId":7,"quantity":12,"status":"<${quoted}>","x":[1234567890,-5,null,true],"y":""},{"petId":71,"y":"a\\"b"}]`;
      for (const size of [1, 5, 1_000, 'whole'] as const) {
        const { text } = await received(key, { body }, size);
        const mark = key === 'null' ? 'null' : '[redacted]';
        expect(parseJson(text)).toEqual(parseJson(body.replace(`<${quoted}>`, `<${mark}>`)));
      }
    },
  );

  it('a string of millions of escapes comes through, with a key of digits', async () => {
    const body = `["12345678","${'\\n'.repeat(10_000_000)}\\"",12345678,"cut`;
    const { text } = await received('12345678', { body }, 'whole');
    expect(text === body.replace('12345678', '[redacted]')).toBe(true);
  });

  it.each(['12345678', 'abc'])('the key %s in a page is redacted', async (key) => {
    expect((await received(key, { body: `<p>the key ${key}, 7${key}7</p>` }, 5)).text).toBe(
      `<p>the key [redacted], 7${key}7</p>`,
    );
  });

  it('headers, their names too; a number stays one', async () => {
    const key = '1234567890';
    const { headers } = await received(key, {
      headers: new Map([
        ['x-ratelimit-reset', [key]],
        ['retry-after', [` ${key} `]],
        ['location', [`/${key}`, '/other']],
        [`x-${key}`, ['yes']],
      ]),
    });
    expect(Object.fromEntries(headers)).toEqual({
      'x-ratelimit-reset': [key],
      'retry-after': [` ${key} `],
      location: ['/[redacted]', '/other'],
      'x-[redacted]': ['yes'],
    });
  });
});

describe('fault 118: what leaves a command has no secret in it', () => {
  it('streams, files, logs and questions', async () => {
    const context = createTestContext({ answers: [true, 'text', 'hidden'] });
    const { stdout, stderr, files, prompt, signal } = redactedPorts(context, secretsOf(KEY));
    const path = join(context.home.path, 'report.xml');
    await stdout.write(`out ${KEY}\n`);
    await stderr.write(`err ${KEY}\n`);
    await files.replace(path, `<a b="${SPELLINGS.XML!(KEY)}"/>`, { mode: 0o600 });
    const log = await files.append(`${path}.log`, () => undefined);
    log.write(`log ${JSON.stringify(KEY)}\n`);
    await log.close();
    await prompt.confirm(`${KEY}?`, signal);
    await prompt.text(`${KEY}?`, undefined, signal);
    await prompt.hidden(`${KEY}?`, signal);
    expect([context.stdout.text(), context.stderr.text()]).toEqual(['out [redacted]\n', 'err [redacted]\n']);
    expect(context.questions.map(({ question }) => question)).toEqual(Array(3).fill('[redacted]?'));
    expect(readFileSync(path, 'utf8')).toBe('<a b="[redacted]"/>');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(existsSync(`${path}.log`) && readFileSync(`${path}.log`, 'utf8')).toBe('log "[redacted]"\n');
  });
});
