/** Which parts of an answer are shown, and how. */
import { describe, expect, it } from 'vitest';
import { FORMATS } from '../../src/view/view.ts';
import { runIn, STAGING_ENV, withReplies } from '../support/in-process.ts';
import { error, item, json } from '../support/replies.ts';
import { createTestContext } from '../support/test-context.ts';

const LIST = ['inventory', 'list'];
const STOCK = [item(1, 5), item(7, 10)];
/** ESC, C1, CR, a bidi override: what could rewrite a line that a person reads. */
const EVIL = 'a\u001b[2Jb\u009bc\rd\u202ee';
// eslint-disable-next-line no-control-regex -- controls are what must not be there
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/;

it('__proto__ is a field like any other', async () => {
  const body = '[{"petId":1,"quantity":2,"status":"sold","__proto__":{"status":"available"}}]';
  const context = withReplies([{ body }]);
  const { code, stdout } = await runIn(context, ...LIST, '-o', 'ndjson');
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${body.slice(1, -1)}\n` });
});

describe('fault 101: what a service sends is shown, not obeyed', () => {
  it.each(FORMATS)('in a %s', async (format) => {
    const context = withReplies([json([item(1, 5, EVIL)])]);
    const { code, stdout, stderr } = await runIn(context, ...LIST, '-o', format);
    expect(code).toBe(0);
    expect(stdout + stderr).not.toMatch(CONTROLS);
    expect(stdout).toMatch(
      format.endsWith('json') ? /a\\u001b\[2Jb\\u009bc\\rd\\u202ee/ : /a\\x1b\[2Jb\\x9bc\\x0dd\\u202ee/,
    );
  });

  it.each([
    ['wait --pet 7 --min 0', [json([item(7, 5, 'a\nb')])]],
    ['inventory set 7 5 --no-input', [json(item(7, 5, 'a\nb'))]],
    ['inventory list --watch', [json([item(7, 5, 'a\nb')]), error(401)]],
  ])('and makes no line of its own: %s', async (line, replies) => {
    const { stdout } = await runIn(withReplies(replies), ...line.split(' '));
    expect(stdout).toContain('a\\x0ab)');
  });

  it('in an error', async () => {
    const context = withReplies([error(400, EVIL, EVIL)]);
    const { stderr } = await runIn(context, 'inventory', 'set', '7', '12');
    expect(stderr).not.toMatch(CONTROLS);
    expect(stderr).toContain('a\\x1b[2Jb\\x9bc\\x0dd\\u202ee');
  });
});

describe('fault 103: no escapes in a pipe, nor where colour is off', () => {
  it.each([
    [[], {}],
    [['--color', 'never'], { FORCE_COLOR: '1' }],
  ])('%s %o', async (flags, env) => {
    const context = withReplies([json(STOCK), error(400)], { env: { ...STAGING_ENV, ...env } });
    const list = await runIn(context, ...flags, ...LIST, '--show-limits');
    const set = await runIn(context, ...flags, 'inventory', 'set', '7', '12');
    expect(JSON.stringify([list, set])).not.toContain('\\u001b');
  });

  it.each([
    [['--color', 'always'], { NO_COLOR: '1' }],
    [[], { FORCE_COLOR: '1' }],
  ])('and escapes where they are asked for: %s %o', async (flags, env) => {
    const { stderr } = await runIn(createTestContext({ env }), ...flags, ...LIST);
    expect(stderr).toContain('\u001b[');
  });
});

it('fault 104: warnings go to stderr, and stdout stays JSON', async () => {
  const context = withReplies([json([item(1, 5, 'odd')], { headers: { Sunset: 'Sun, 30 Jun 2030 23:59:59 GMT' } })]);
  const { code, stdout, stderr } = await runIn(context, ...LIST, '--json', '--verbose', '--show-limits');
  expect([code, JSON.parse(stdout)]).toEqual([0, [{ petId: 1, quantity: 5, status: 'odd' }]]);
  expect(stderr.trimEnd().split('\n')).toHaveLength(4);
  expect(stderr).toMatch(
    /^\{"info":\{"message":"GET https:\/\/pets\.example\/v1\/inventory 200 in \d+ ms, 59\/60 left"\}\}$/m,
  );
  expect(stderr).toMatch(/^\{"rateLimit":\{"limit":60,"remaining":59,"resetAt":"[^"]+Z"\}\}$/m);
});

it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty', 'valueOf'])(
  '%s is an unknown command, not a bug',
  async (name) => {
    for (const words of [[name], ['help', name], [name, '--help']]) {
      expect((await runIn(createTestContext(), ...words)).code).toBe(2);
    }
  },
);
