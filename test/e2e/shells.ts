/** Runs completion in real shells, with the same scripts that users load. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const COMPLETIONS = fileURLToPath(new URL('../../completions/', import.meta.url));

export interface Surroundings {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Words, the last of them where the cursor is -> proposals. */
export type Complete = (words: readonly string[], around: Surroundings) => readonly string[];

const isThere = (program: string): boolean => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;

const BASH_COMPLETION = '/usr/share/bash-completion/bash_completion';

function run(program: string, args: readonly string[], { cwd, env }: Surroundings): string[] {
  const output = execFileSync(program, [...args], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return output.split('\n').filter((line) => line !== '');
}

/** Sets what readline sets, and calls what `complete -p` names. */
function bash(first: string, breaks: boolean): Complete {
  const script = `
    ${first}
    source ${COMPLETIONS}petstore.bash
    ${breaks ? '' : 'COMP_WORDBREAKS=${COMP_WORDBREAKS//=}'}
    compopt() { :; } # outside of a completion it only complains
    COMP_LINE="petstore $1" COMP_POINT=\${#COMP_LINE}
    shift
    COMP_WORDS=(petstore "$@") COMP_CWORD=$#
    [[ $(complete -p petstore) == 'complete -F _petstore petstore' ]] || exit 9
    _petstore petstore "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD-1]}"
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const broken = breaks ? /([=:@]+)/ : /([:@]+)/;
  return (words, around) => {
    const parts = words.flatMap((word) => (word === '' ? [''] : word.split(broken).filter((part) => part !== '')));
    return run('bash', ['--norc', '--noprofile', '-c', script, 'bash', words.join(' '), ...parts], around);
  };
}

/** The completion system's own functions are replaced by ones that print what they are given. */
const zsh: Complete = (words, around) => {
  const script = `
    __say() { [[ $1 == \${(b)PREFIX}* ]] && print -r -- $1 }
    compadd() { local each; shift; for each in "$@"; do __say $each; done }
    _describe() { local each; for each in \${(P)@[-1]}; do __say \${each%%:*}; done }
    compset() { PREFIX=\${PREFIX##\${~2}} }
    compdef() { : }
    _files() { : }
    _message() { : }
    source ${COMPLETIONS}_petstore
    words=(petstore "$@") CURRENT=$(($# + 1)) PREFIX=$words[-1]
    _petstore\n    true`;
  return run('zsh', ['-f', '-c', script, 'zsh', ...words], around);
};

/** What is typed at a prompt is not quoted either. */
const fish: Complete = (words, around) => {
  const script = `source ${COMPLETIONS}petstore.fish; complete --do-complete $argv[1]`;
  const output = run('fish', ['--no-config', '-c', script, `petstore ${words.join(' ')}`], around);
  return output.map((line) => line.split('\t')[0]!);
};

/** Complete, or why not. */
export const SHELLS: Readonly<Record<string, Complete | string>> = {
  bash: bash('', true),
  'bash, "=" no break': bash('', false),
  'bash with bash-completion': existsSync(BASH_COMPLETION)
    ? bash(`source ${BASH_COMPLETION}`, true)
    : 'bash-completion is not installed',
  'bash -u': bash('set -u', true),
  zsh: isThere('zsh') ? zsh : 'zsh is not installed',
  fish: isThere('fish') ? fish : 'fish is not installed',
};

/** How each is started at a terminal, knowing of petstore's completion and nothing else. */
export const INTERACTIVE: Readonly<
  Record<string, { readonly command: readonly [string, ...string[]]; readonly setUp: string }>
> = {
  bash: { command: ['bash', '--norc', '--noprofile', '-i'], setUp: `source ${COMPLETIONS}petstore.bash` },
  zsh: {
    command: ['zsh', '-f', '-i'],
    // By itself TAB is expand-or-complete, with which zsh runs what is in $( ) before any completion is asked.
    setUp: `fpath=(${COMPLETIONS} $fpath); autoload -Uz compinit; compinit -u -D; bindkey '^I' complete-word`,
  },
  fish: { command: ['fish', '--no-config', '-i'], setUp: `source ${COMPLETIONS}petstore.fish` },
};

/** The file that a word leaves behind if a shell reads it again. */
export const MARK_FILE = 'pwned';

/** Fifty such words. */
export const INJECTIONS: readonly string[] = [
  ...['$(touch FILE)', '`touch FILE`', '$(touch FILE', '`touch FILE', '"$(touch FILE)"', "'$(touch FILE)'"],
  ...[
    ';touch FILE',
    '; touch FILE ;',
    '&touch FILE',
    '&& touch FILE',
    '| touch FILE',
    '|| touch FILE',
    '|& touch FILE',
  ],
  ...['>FILE', '>>FILE', '2>FILE', '&>FILE', '>|FILE', '<(touch FILE)', '>(touch FILE)', '=(touch FILE)'],
  ...['${x:-$(touch FILE)}', '${x:=`touch FILE`}', '${(e):-$(touch FILE)}', '${x@P}$(touch FILE)', '$[$(touch FILE)]'],
  ...['$((a[$(touch FILE)]))', 'a[$(touch FILE)]', 'x[`touch FILE`]', '-v a[$(touch FILE)]', '((a=$(touch FILE)))'],
  ...['(touch FILE)', '{touch,FILE}', '{touch FILE;}', "$'\\x24(touch FILE)'", '$"$(touch FILE)"', '\\$(touch FILE)'],
  ...['--env=$(touch FILE)', '--env=`touch FILE`', '--status=;touch FILE', '--columns=petId,$(touch FILE)'],
  ...['-$(touch FILE)', '--$(touch FILE)', '-e$(touch FILE)', '!touch FILE', '~$(touch FILE)'],
  ...['*(e:touch FILE:)', '*(#q+touch)', "');touch FILE;('", '";touch FILE;"'],
].map((text) => text.replaceAll('FILE', MARK_FILE));
