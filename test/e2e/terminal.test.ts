/** A person at a terminal, on a real pty. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runPetstore, startPetstore } from '../support/binary.ts';
import { createHome } from '../support/home.ts';
import { startPty } from '../support/pty.ts';
import { error, item, json, tooMany } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { screenOf } from '../support/screen.ts';
import { KEY, staging } from '../support/staging.ts';

const LIST = ['inventory', 'list'];
const STOCK = [item(1, 5), item(7, 10)];

describe('login', () => {
  it('asks for what is missing, the key hidden, tries it and keeps it', async () => {
    const server = await scriptedServer([json(STOCK)]);
    const home = createHome();
    const terminal = startPty(['login'], { home });
    await terminal.waitFor('Environment');
    terminal.write('staging\r');
    await terminal.waitFor('Base URL of staging');
    terminal.write(`${server.baseUrl}\r`);
    await terminal.waitFor('API key of staging');
    terminal.write(`${KEY}\r`);
    await terminal.waitFor('Logged in to staging');
    expect(await terminal.exited).toEqual({ code: 0 });
    expect(terminal.output).not.toContain(KEY);
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(JSON.parse(readFileSync(join(home.config, 'petstore', 'config.json'), 'utf8'))).toEqual({
      version: 1,
      environment: 'staging',
      'staging.base-url': server.baseUrl,
      'staging.api-key': KEY,
    });

    server.script(json(STOCK));
    const list = startPty(LIST, { home });
    await list.waitFor('available');
    expect((await list.exited).code).toBe(0);
    expect(list.plain()).not.toContain('Rate limit');
    server.script(json(STOCK, { limits: { remaining: 11 } }));
    const low = startPty(LIST, { home });
    await low.waitFor('Rate limit 11/60 left, resets in ');
    expect((await low.exited).code).toBe(0);
  });

  it('keeps nothing when the service refuses the key', async () => {
    const server = await scriptedServer([error(401, 'Invalid key')]);
    const home = createHome();
    const terminal = startPty(['login', '--env', 'staging', '--base-url', server.baseUrl], { home });
    await terminal.waitFor('API key of staging');
    terminal.write(`${KEY}\r`);
    await terminal.waitFor('refused the key');
    await terminal.waitFor('API key of staging');
    terminal.write('\x03');
    expect((await terminal.exited).code).toBe(130);
    expect((await runPetstore(['config', 'list', '-o', 'csv'], { home })).stdout).not.toContain('staging.api-key,*');
  });
});

describe('a rate limit', () => {
  it('fault 82: Ctrl-C ends the countdown with 130, and nothing more is sent', async () => {
    const server = await scriptedServer([tooMany(40)]);
    const terminal = startPty(LIST, { env: staging(server.baseUrl) });
    await terminal.waitFor(/Ctrl-C/);
    terminal.write('\x03');
    expect((await terminal.exited).code).toBe(130);
    expect(terminal.plain()).toMatch(/(?<!: )Stopped\./);
    expect(server.log()).toEqual(['GET /v1/inventory']);
  });

  it('fault 82, 84: a wait ends at once with the signal’s code, without a terminal too', async () => {
    for (const [signal, code] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
      ['SIGHUP', 129],
    ] as const) {
      const server = await scriptedServer([tooMany(40)]);
      const finished = await runPetstore(LIST, {
        env: staging(server.baseUrl),
        signalAfter: { match: /Ctrl-C|429/, signal },
      });
      expect({ code: finished.code, log: server.log() }).toEqual({ code, log: ['GET /v1/inventory'] });
    }
  });
});

it('fault 84: a second Ctrl-C does not wait for the write in flight', async () => {
  const server = await scriptedServer([
    ({ connection }) => new Promise((done) => connection.once('close', () => done())),
  ]);
  const running = startPetstore(['inventory', 'set', '7', '12', '--env', 'staging'], { env: staging(server.baseUrl) });
  await server.received(1);
  running.kill('SIGINT');
  running.kill('SIGINT');
  // Two signals of one kind may arrive as one: repeat until the process is gone.
  const again = setInterval(() => running.kill('SIGINT'), 20);
  const { code } = await running.exited;
  clearInterval(again);
  expect(code).toBe(130);
});

describe('fault 89: a prompt that cannot be answered', () => {
  it.each([
    ['an empty pipe', { stdin: '' }],
    ['/dev/null', { stdin: null }],
    ['an open pipe', { stdin: { open: true } as const }],
  ])('on %s fails and says what to do', async (_name, options) => {
    const { code, stderr } = await runPetstore(
      ['login', '--env', 'staging', '--base-url', 'http://127.0.0.1:9/v1'],
      options,
    );
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'error: Cannot ask for the API key without a terminal.\n' +
        'hint: Pass it on stdin: petstore --env staging login --key-stdin < FILE\n',
    });
  });

  it.each([
    ['the environment', 'Environment', []],
    ['the key', 'API key of staging', ['--env', 'staging', '--base-url', 'http://127.0.0.1:9/v1']],
  ])('fault 122: asked for %s, nothing is typed: it ends at its deadline', async (_, question, args) => {
    const terminal = startPty(['login', '--deadline', '1s', ...args]);
    await terminal.waitFor(question);
    expect((await terminal.exited).code).toBe(7);
    expect(terminal.plain()).toContain('did not finish within its deadline of 1 s');
  });

  it('is not asked with --no-input', async () => {
    const terminal = startPty(['login', '--no-input']);
    expect((await terminal.exited).code).toBe(2);
    expect(terminal.plain()).toContain('Cannot ask for the environment');
  });
});

describe('fault 105: terminals of odd sizes', () => {
  it.each([0, 1, 20, 40, 80, 200])('%i columns', async (cols) => {
    const server = await scriptedServer([json([item(9223372036854775807n, 5, '猫 available 🐈')])]);
    // A pty of 0 columns is one that does not know its size.
    const terminal = startPty(LIST, { env: staging(server.baseUrl), cols: Math.max(cols, 1) });
    if (cols === 0) terminal.resize(1, 1);
    expect((await terminal.exited).code).toBe(0);
    expect(terminal.plain().replace(/\s/g, '')).toContain('9223372036854775807');
  });
});

it.each([[[]], [['--help']], [['-h']]])(
  'petstore %j: every command on a screen of 80x24, the prompt included',
  async (args) => {
    const size = { cols: 80, rows: 24 };
    const terminal = startPty(args, size);
    expect((await terminal.exited).code).toBe(0);
    const lines = await screenOf(`${terminal.output}$`, size);
    expect(lines.length).toBeLessThanOrEqual(size.rows);
    expect(lines[0]).toBe('Manage the stock of a pet store from the command line.');
  },
);
