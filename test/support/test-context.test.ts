import { expect, test } from 'vitest';
import { type HttpBody, OutputClosed } from '../../src/ports.ts';
import { Failure } from '../../src/errors.ts';
import { readText } from '../../src/session/read-text.ts';
import { gate, gated } from './faults.ts';
import { runIn, withReplies } from './in-process.ts';
import { item, json } from './replies.ts';
import { scriptedServer } from './scripted-server.ts';
import { createTestContext } from './test-context.ts';
import { httpReply, mulberry32, sendOver } from './test-ports.ts';

const call = (origin: string) => ({ method: 'GET', url: new URL(origin), headers: {}, timeoutMs: 5_000 }) as const;

async function textOf(body: HttpBody): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test('streams: pipes by default, a terminal on demand, and failures', async () => {
  const piped = createTestContext({ stdin: { text: 'key\n' } });
  const onTerminal = createTestContext({ terminal: true, stdout: { isTTY: false }, stderr: { columns: 20 } });
  const shape = ({ stdin, stdout, stderr }: typeof piped) => [
    stdin.isTTY,
    [stdout.isTTY, stdout.columns],
    [stderr.isTTY, stderr.columns],
  ];
  expect([shape(piped), shape(onTerminal)]).toEqual([
    [false, [false, undefined], [false, undefined]],
    [true, [false, 80], [true, 20]],
  ]);
  expect(await readText(piped, '-', 4)).toBe('key\n');
  await expect(readText(piped, '-', 3)).rejects.toBeInstanceOf(Failure);
  await piped.stdout.write('a');
  piped.stdout.failWith = new OutputClosed();
  await expect(piped.stdout.write('b')).rejects.toBeInstanceOf(OutputClosed);
  expect(piped.stdout.text()).toBe('a');
});

test('questions are answered in order and noted', async () => {
  const context = createTestContext({ answers: ['secret', '', true] });
  const { prompt, signal } = context;
  expect([
    await prompt.hidden('Key?', signal),
    await prompt.text('Where?', 'staging', signal),
    await prompt.confirm('Sure?', signal),
  ]).toEqual(['secret', 'staging', true]);
  expect(context.questions).toEqual([
    { kind: 'hidden', question: 'Key?' },
    { kind: 'text', question: 'Where?' },
    { kind: 'confirm', question: 'Sure?' },
  ]);
});

test.fails('a question that was not scripted fails the test, caught or not', async () => {
  const { prompt, signal } = createTestContext();
  await prompt.confirm('Sure?', signal).catch(() => undefined);
});

test.fails('an answer without a question fails the test', () => {
  createTestContext({ answers: ['x'] });
});

test('replies are given in order', async () => {
  const context = withReplies([json([item(7, 1)]), json([item(8, 2)])]);
  const list = async () => (await runIn(context, 'inventory', 'list', '-o', 'csv')).stdout.split('\n')[1]?.trim();
  expect([await list(), await list()]).toEqual(['7,1,available', '8,2,available']);
});

test.fails('a request without a scripted reply fails the test, whatever comes of it', async () => {
  await runIn(withReplies([]), 'inventory', 'list');
});

test.fails('a reply that no request asked for fails the test', () => {
  withReplies([json([])]);
});

test('an interrupt aborts with its Failure, and a sleeper at once', async () => {
  const context = createTestContext();
  const release = context.clock.hold();
  const sleep = context.clock.sleep(1_000, context.signal);
  context.interrupt('SIGTERM');
  await expect(sleep).rejects.toEqual(new Failure('interrupted', { signal: 'SIGTERM' }));
  release();
});

test('time stops while the network is at work', async () => {
  const held = gate();
  const server = await scriptedServer([gated(held, json(['real']))]);
  const context = createTestContext();
  const http = await context.openHttp();
  const happened: string[] = [];
  const exchange = sendOver(http, call(server.origin)).then(async ({ status, body }) => {
    happened.push('answer');
    return [status, await textOf(body)];
  });
  const sleep = context.clock.sleep(60_000).then(() => happened.push('sleeper'));
  await server.received(1);
  held.open();
  expect(await exchange).toEqual([200, '["real"]']);
  await sleep;
  expect([happened, context.sent.map(({ url }) => url.origin)]).toEqual([['answer', 'sleeper'], [server.origin]]);
});

test('a handler answers in place of the network, and may be slow in virtual time', async () => {
  const context = createTestContext({
    http: async ({ url }) => {
      await context.clock.sleep(3_000);
      return httpReply(json([url.pathname], { status: 201, limits: false }), context.clock.now());
    },
  });
  const started = context.clock.monotonic();
  const { status, headers, body } = await sendOver(await context.openHttp(), call('https://pets.example/v1'));
  expect([status, [...headers], await textOf(body), context.clock.monotonic() - started]).toEqual([
    201,
    [
      ['date', ['Mon, 02 Mar 2026 14:03:23 GMT']],
      ['content-type', ['application/json']],
    ],
    '["/v1"]',
    3_000,
  ]);
});

test('a request to a handler can be aborted', async () => {
  const context = createTestContext({ http: () => new Promise(() => undefined) });
  const http = await context.openHttp();
  const sent = sendOver(http, { ...call('https://pets.example/v1'), signal: context.signal });
  context.interrupt();
  await expect(sent).rejects.toMatchObject({ facts: { phase: 'aborted', peer: 'pets.example' } });
});

test('files and config are real ones under the home of the test', async () => {
  const { files, configWriter, home, machine } = createTestContext();
  const folder = `${home.config}/petstore`;
  await files.makePrivateFolder(folder);
  await configWriter.write(folder, 'config', { version: 1 });
  expect(JSON.parse(await files.read(`${folder}/config.json`))).toEqual({ version: 1 });
  expect([await files.facts(`${folder}/none`), machine.home]).toEqual([undefined, home.path]);
});

test('the database is a real one under the home of the test', async () => {
  const { openDatabase, files, home } = createTestContext();
  await files.makePrivateFolder(home.state);
  const database = await openDatabase(`${home.state}/test.db`);
  database.exec('create table pets (id integer)');
  database.run('insert into pets values (?)', 2n ** 63n - 1n);
  expect(database.all('select id from pets')).toEqual([{ id: 2n ** 63n - 1n }]);
  database.close();
});

test('random numbers are the same for the same seed', () => {
  const three = (seed: number): number[] => {
    const random = mulberry32(seed);
    return [random(), random(), random()];
  };
  expect(three(1)).toEqual(three(1));
  expect(three(1)).not.toEqual(three(2));
  expect(three(1).every((each) => each >= 0 && each < 1)).toBe(true);
});
