import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { cleanEnvironment, petstoreCommand, runPetstore } from '../support/binary.ts';
import { createHome, type Home } from '../support/home.ts';
import { startPty } from '../support/pty.ts';
import { type Complete, COMPLETIONS, INJECTIONS, INTERACTIVE, MARK_FILE, SHELLS, type Surroundings } from './shells.ts';

/** A home whose PATH begins with `petstore`, which has seen the sandbox's pets. */
function surroundings(home: Home): Surroundings {
  const bin = join(home.path, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'petstore'), `#!/bin/sh\nexec ${petstoreCommand().join(' ')} "$@"\n`);
  chmodSync(join(bin, 'petstore'), 0o755);
  const env = cleanEnvironment(home);
  return { cwd: home.path, env: { ...env, PATH: `${bin}:${env.PATH ?? ''}`, TERM: 'xterm-256color' } };
}

describe.each(Object.entries(SHELLS))('%s', (name, shell) => {
  if (typeof shell === 'string') {
    process.stderr.write(`Skipped: completion; ${shell}.\n`);
    it.skip(shell);
    return;
  }
  const complete: Complete = shell;
  let home: Home;
  let around: Surroundings;
  beforeAll(async () => {
    home = createHome();
    around = surroundings(home);
    await runPetstore(['--env', 'sandbox', 'inventory', 'list'], { home });
  });

  // What is proposed for other lines is in test/cli/complete.test.ts.
  it.each([
    ['inv', ['inventory']],
    ['--env sandbox inventory hi', ['history']],
    ['-e s', ['sandbox', 'staging']],
    ['inventory list --st', ['--status']],
    ['inventory list --status ', ['available', 'pending', 'sold']],
    ['inventory list -- --st', []],
    // In bash, "=", ":" and "@" break words.
    ['--base-url=http://127.0.0.1:9/v1 inventory set 7 1 --person ann@x --cause di', ['died']],
    ['inventory set 92', ['9223372036854775807']],
  ])('petstore %s', (line, proposals) => {
    expect([...complete(line.split(' '), around)].sort()).toEqual(proposals);
  });

  it('every command and option that it is given', () => {
    const found = complete(['inventory', 'list', '-'], around);
    const { stdout } = spawnSync('petstore', ['__complete', 'inventory', 'list', '-'], { ...around, encoding: 'utf8' });
    const given = stdout.split('\n').filter((line) => line.startsWith('-'));
    expect([...found].sort()).toEqual(given.map((line) => line.split('\t')[0]!).sort());
    expect(found).toContain('--status');
  });

  it('a value in the same word as its option', () => {
    const [found = ''] = complete(['--env=sta'], around);
    expect(['staging', '--env=staging']).toContain(found);
  });

  it('several values in one word', () => {
    const [found = ''] = complete(['inventory', 'list', '--columns', 'petId,q'], around);
    expect(['quantity', 'petId,quantity']).toContain(found);
  });

  // The other shells complete files by themselves.
  it.runIf(name === 'fish')('names of files, also in the same word as their option, and in quotes', () => {
    writeFileSync(join(home.path, 'stock of may.csv'), '');
    for (const word of ['sto', '"stock o', "'stock o", String.raw`stock\ o`])
      expect(complete(['inventory', 'import', word], around)).toEqual(['stock of may.csv']);
    expect(complete(['proxy', '--tokens=sto'], around)).toEqual(['--tokens=stock of may.csv']);
    expect(complete(['--env', '"sa'], around)).toEqual(['sandbox']);
  });

  it('names of pets change no id, and are not evaluated', async () => {
    const ids = complete(['inventory', 'set', ''], around);
    for (const words of [INJECTIONS.slice(0, ids.length), INJECTIONS.slice(ids.length)]) {
      const named = words.map((word, i) => `${ids[i]},"${word.replaceAll('"', '""')}"\n`);
      const stdin = `petId,name\n${named.join('')}`;
      const imported = await runPetstore(['--env', 'sandbox', 'catalog', 'import', '-'], { home, stdin });
      expect(imported).toMatchObject({
        code: 0,
        stdout: `${words.length} pets imported into the catalog of sandbox.\n`,
      });
      const found = complete(['--env', 'sandbox', 'inventory', 'set', ''], around);
      expect([...found].sort()).toEqual([...ids].sort());
      expect(existsSync(join(around.cwd, MARK_FILE))).toBe(false);
    }
  });

  it('evaluates nothing that was typed, nor what is proposed', () => {
    // Proposes every word of the line, in place of petstore, which takes longer to start.
    const bin = join(home.path, 'echo');
    mkdirSync(bin);
    writeFileSync(join(bin, 'petstore'), `#!/bin/sh\nshift\nprintf '%s\\n' "$@"\n`, { mode: 0o755 });
    const echoing = { ...around, env: { ...around.env, PATH: `${bin}:${around.env.PATH ?? ''}` } };
    expect(complete(['sold'], echoing)).toEqual(['sold']);
    expect(INJECTIONS).toHaveLength(50);
    for (const word of INJECTIONS) {
      complete([word, word], echoing);
      expect([word, existsSync(join(around.cwd, MARK_FILE))]).toEqual([word, false]);
    }
  });
});

describe.each(Object.entries(INTERACTIVE))('%s at a terminal', (name, { command, setUp }) => {
  const isThere = typeof SHELLS[name] !== 'string';

  /** Starts the shell, and stops it when the work is done, which must have run nothing that was typed or proposed. */
  async function atPrompt(home: Home, work: (shell: ReturnType<typeof startPty>) => Promise<void>): Promise<void> {
    const around = surroundings(home);
    const shell = startPty([], { command, home, cwd: around.cwd, env: { ...around.env, PS1: '$ ', PROMPT: '$ ' } });
    shell.write(`${setUp}; echo rea''dy\r`);
    await shell.waitFor(/ready/);
    await work(shell);
    expect(existsSync(join(around.cwd, MARK_FILE))).toBe(false);
    shell.kill('SIGKILL');
    await shell.exited;
  }

  it.skipIf(!isThere)('TAB completes a command, and runs nothing that was typed', () =>
    atPrompt(createHome(), async (shell) => {
      shell.write('petstore inven\t');
      await shell.waitFor(/petstore inventory /);
      shell.write('hist\t');
      await shell.waitFor(/history/);
      for (const word of INJECTIONS) {
        // Ctrl-U empties the line again.
        shell.write('\x15');
        shell.write(`petstore inventory list --status ${word}\t`);
      }
      shell.write('\x15');
      shell.write(`echo all''done\r`);
      await shell.waitFor(/alldone/);
    }),
  );

  // bash shows no descriptions.
  it.skipIf(!isThere || name === 'bash')('TAB shows the names of pets beside their ids', async () => {
    const home = createHome();
    await runPetstore(['--env', 'sandbox', 'inventory', 'list'], { home });
    await runPetstore(['--env', 'sandbox', 'catalog', 'set', '12', '--name', 'Hamster: $(touch pwned)'], { home });
    await atPrompt(home, async (shell) => {
      shell.write('petstore -e sandbox inventory set 1\t');
      await shell.waitFor(/12\W+Hamster: \$\(touch pwned\)/);
    });
  });
});

describe('petstore completion', () => {
  it.each([
    ['bash', 'petstore.bash', '.local/share/bash-completion/completions/petstore', 'bash-completion finds it there.'],
    ['zsh', '_petstore', '.local/share/zsh/site-functions/_petstore', 'fpath=('],
    ['fish', 'petstore.fish', '.config/fish/completions/petstore.fish', 'fish finds it there.'],
    ['powershell', 'petstore.ps1', '.config/powershell/petstore.ps1', '$PROFILE'],
  ])('%s prints what the package carries; --install writes it, once or again', async (shell, file, path, says) => {
    const home = createHome();
    const script = readFileSync(join(COMPLETIONS, file), 'utf8');
    const named = shell === 'powershell' ? [shell] : [];
    const printed = await runPetstore(['completion', ...named], { home, env: { SHELL: `/bin/${shell}` } });
    expect(printed).toEqual({ code: 0, signal: null, stdout: script, stderr: '' });
    for (let i = 0; i < 2; i++) {
      const { code, stdout } = await runPetstore(['completion', shell, '--install'], { home });
      expect([code, stdout]).toEqual([0, expect.stringContaining(`Written to ${join(home.path, path)}.\n`)]);
      expect(stdout).toContain(says);
    }
    expect(statSync(join(home.path, path)).mode & 0o777).toBe(0o644);
    expect(readFileSync(join(home.path, path), 'utf8')).toBe(script);
  });

  it.each([
    ['zsh', String.raw`'\''`, (folder: string) => `fpath=('${folder}/zsh/site-functions' $fpath)\n`],
    ['powershell', "''", (folder: string) => `:\n. '${folder}/powershell/petstore.ps1'\n`],
  ])('a folder with blanks and quotes is quoted for %s', async (shell, quote, line) => {
    const folder = join(createHome().path, "my shop's");
    const env = { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    const { stdout } = await runPetstore(['completion', shell, '--install'], { env });
    expect(stdout).toContain(line(folder.replace("'", quote)));
  });

  it('--install breaks its lines between words', () =>
    startPty(['completion', 'bash', '--install'], { cols: 40 }).waitFor(
      'there. Without\n  that package, add to ~/.bashrc:\nsource <(petstore completion bash)\n',
    ));

  it('installs nothing without a home, and proposes no pets', async () => {
    const env = { HOME: undefined, XDG_STATE_HOME: undefined };
    const proposed = await runPetstore(['__complete', 'inventory', 'set', ''], { env });
    expect(proposed).toMatchObject({ code: 0, stdout: ':end\n', stderr: '' });
    const { code, stderr } = await runPetstore(['completion', 'bash', '--install'], { env });
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(/HOME is not set\.\nhint: Set HOME to an absolute path\.\n$/),
    ]);
  });
});
