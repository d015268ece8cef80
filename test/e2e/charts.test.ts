/** `inventory summary` and `inventory history --chart` through the built program: locale, width, one request. */
import { describe, expect, it } from 'vitest';
import { runPetstore } from '../support/binary.ts';
import { createHome, type Home } from '../support/home.ts';
import { startPty } from '../support/pty.ts';
import { item, json } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { staging } from '../support/staging.ts';

const STOCK = [item(1, 5), item(2, 0, 'pending'), item(9223372036854775807n, 2n ** 60n), item(4, -1)];

describe('inventory summary', () => {
  it.each([
    ['C.UTF-8', '███████████████'],
    ['C', '###############'],
  ])('in the locale %s', async (LANG, bar) => {
    const server = await scriptedServer([json(STOCK)]);
    const env = { ...staging(server.baseUrl), LANG };
    const { code, stdout, stderr } = await runPetstore(['inventory', 'summary'], { env });
    expect([code, stderr, server.log()]).toEqual([0, '', ['GET /v1/inventory']]);
    expect(stdout.split('\n')).toEqual([
      'status     pets  share                                   quantity  outOfStock',
      `available     3   75 %  ${bar}       1152921504606846980           1`,
      `pending       1   25 %  ${bar.slice(0, 5)}                                   0           1`,
      'sold          0    0 %                                          0           0',
      'total         4  100 %                        1152921504606846980           2',
      '',
    ]);
  });

  it('in NDJSON has the numbers alone', async () => {
    const server = await scriptedServer([json(STOCK)]);
    const { stdout } = await runPetstore(['inventory', 'summary', '-o', 'ndjson', '--status', 'available'], {
      env: staging(server.baseUrl),
    });
    expect(stdout).toBe('{"status":"available","pets":3,"quantity":1152921504606846980,"outOfStock":1}\n');
  });
});

describe('inventory history --chart', () => {
  async function shop(): Promise<Home> {
    const home = createHome();
    for (const by of ['+10', '-15', '+35']) {
      expect((await runPetstore(['--env', 'sandbox', 'inventory', 'adjust', '7', by], { home })).code).toBe(0);
    }
    return home;
  }
  const CHART = ['--env', 'sandbox', 'inventory', 'history', '--pet', '7', '--chart'];

  it.each([
    ['C.UTF-8', '█'],
    ['POSIX', '#'],
  ])('in the locale %s, in a pipe', async (LANG, full) => {
    const { code, stdout, stderr } = await runPetstore(CHART, { home: await shop(), env: { LANG } });
    expect([code, stderr]).toEqual([0, '']);
    const [title, ...lines] = stdout.trimEnd().split('\n');
    expect(title).toBe('Pet 7 in sandbox');
    const bars = lines.map((line) => /^[\d:]{8} {2}([ \d]{2}) {2}(\S+)$/.exec(line)!.slice(1));
    expect(bars.map(([number]) => number)).toEqual(['20', ' 5', '40']);
    expect(bars.map(([, bar]) => bar!.length)).toEqual([33, full === '#' ? 8 : 9, 66]);
    expect(bars[0]![1]).toBe(full.repeat(33));
  });

  it('on a terminal of 40 columns', async () => {
    const terminal = startPty([...CHART, '--color', 'never'], { home: await shop(), cols: 40 });
    expect((await terminal.exited).code).toBe(0);
    const lines = terminal.plain().trimEnd().split('\n');
    expect(lines.map((line) => line.length)).toEqual([16, 14 + 13, 14 + 4, 40]);
  });

  it('needs one pet', async () => {
    expect(await runPetstore(['inventory', 'history', '--chart'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'error: --chart needs --pet.\nhint: Name one pet: petstore inventory history --pet 7 --chart\n',
    });
  });
});
