import { describe, expect, it } from 'vitest';
import { createStyle, forPeople, PLAIN, type Role } from '../../src/view/style.ts';

/**
 * The default palettes of common terminals: the sixteen colours, then the backgrounds that they come with. From their
 * sources: VGA and Campbell (microsoft/terminal, TerminalSettingsModel/defaults.json), xterm (XTerm-col.ad), Terminal.app
 * (profiles Basic and Pro), iTerm2 (DefaultBookmark.plist), VTE and Tango (gnome-terminal, profile-editor.cc), Konsole
 * (Breeze.colorscheme), Ubuntu's console (/etc/vtrgb), PuTTY (settings.c), VS Code (terminalColorRegistry.ts).
 */
const PALETTES: readonly (readonly [terminal: string, colours: string[], backgrounds: string[]])[] = `
VGA: 000000 aa0000 00aa00 aa5500 0000aa aa00aa 00aaaa aaaaaa 555555 ff5555 55ff55 ffff55 5555ff ff55ff 55ffff ffffff | 000000
xterm: 000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff | 000000 ffffff
Windows Terminal: 0c0c0c c50f1f 13a10e c19c00 0037da 881798 3a96dd cccccc 767676 e74856 16c60c f9f1a5 3b78ff b4009e 61d6d6 f2f2f2 | 0c0c0c
Terminal.app: 000000 990000 00a600 999900 0000b2 b200b2 00a6b2 bfbfbf 666666 e60000 00d900 e6e600 0000ff e600e6 00e6e6 e6e6e6 | 000000 ffffff
VS Code, dark: 000000 cd3131 0dbc79 e5e510 2472c8 bc3fbc 11a8cd e5e5e5 666666 f14c4c 23d18b f5f543 3b8eea d670d6 29b8db e5e5e5 | 1e1e1e
VS Code, light: 000000 cd3131 107c10 949800 0451a5 bc05bc 0598bc 555555 666666 cd3131 14ce14 b5ba00 0451a5 bc05bc 0598bc a5a5a5 | ffffff
iTerm2: 14191e b43c2a 00c200 c7c400 2744c7 c040be 00c5c7 c7c7c7 686868 dd7975 58e790 ece100 a7abf2 e17ee1 60fdff ffffff | 000000
GNOME: 171421 c01c28 26a269 a2734c 12488b a347ba 2aa1b3 d0cfcc 5e5c64 f66151 33d17a e9ad0c 2a7bde c061cb 33c7de ffffff | 1e1e1e ffffff
Tango: 2e3436 cc0000 4e9a06 c4a000 3465a4 75507b 06989a d3d7cf 555753 ef2929 8ae234 fce94f 729fcf ad7fa8 34e2e2 eeeeec | 2e3436 ffffff
Konsole: 232627 ed1515 11d116 f67400 1d99f3 9b59b6 1abc9c fcfcfc 7f8c8d c0392b 1cdc9a fdbc4b 3daee9 8e44ad 16a085 ffffff | 232627
Ubuntu console: 010101 de382b 39b54a ffc706 006fb8 762671 2cb5e9 cccccc 808080 ff0000 00ff00 ffff00 0000ff ff00ff 00ffff ffffff | 010101
PuTTY: 000000 bb0000 00bb00 bbbb00 0000bb bb00bb 00bbbb bbbbbb 555555 ff5555 55ff55 ffff55 5555ff ff55ff 55ffff ffffff | 000000`
  .trim()
  .split('\n')
  .map((line) => {
    const [terminal = '', colours = '', backgrounds = ''] = line.split(/: | \| /);
    return [terminal, colours.split(' '), backgrounds.split(' ')];
  });

/** VS Code moves a text's colour until its contrast is this (terminal.integrated.minimumContrastRatio, default). */
const ENSURED: Readonly<Record<string, number>> = { 'VS Code, dark': 4.5, 'VS Code, light': 4.5 };

/** WCAG 2.2, relative luminance and contrast ratio. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const styleOn = (TERM: string) => createStyle({ choice: 'always', env: { TERM }, isTTY: true });
/** Those without 256 colours. */
const CONSOLES = ['VGA', 'Ubuntu console'];
const [STYLE, CONSOLE_STYLE] = [await styleOn('xterm-256color'), await styleOn('linux')];

/** Colours from 16 on are the same in every terminal: a cube of six levels (XTerm's 256colres.h). */
function fixedColour(number: number): string {
  const levels = [36, 6, 1].map((unit) => [0, 95, 135, 175, 215, 255][Math.floor((number - 16) / unit) % 6]!);
  return levels.map((level) => level.toString(16).padStart(2, '0')).join('');
}

/** Reads the numbers of a role's colours from what it writes: 30 to 37, 90 to 97 and 38;5 are a text's, ten more a ground's. */
function coloursOf(role: Role, style = STYLE): { text: number | undefined; ground: number | undefined } {
  const written = style[role]('x').split('x')[0]!;
  const numberOf = (first: number): number | undefined => {
    const named = new RegExp(`\\[${first + 8};5;(\\d+)m`).exec(written)?.[1];
    if (named !== undefined) return Number(named);
    const codes = [...written.matchAll(/\[(\d+)m/g)].map(([, code]) => Number(code) - first);
    const code = codes.find((each) => (each >= 0 && each < 8) || (each >= 60 && each < 68));
    return code === undefined || code < 8 ? code : code - 60 + 8;
  };
  return { text: numberOf(30), ground: numberOf(40) };
}

/** The contrast in each terminal, the lowest of its backgrounds. */
function contrastsOf(role: Role): [terminal: string, ratio: number][] {
  return PALETTES.map(([terminal, palette, backgrounds]) => {
    const { text, ground } = coloursOf(role, CONSOLES.includes(terminal) ? CONSOLE_STYLE : STYLE);
    const colourOf = (number: number): string => palette[number] ?? fixedColour(number);
    // Without a colour of its own a text has those of the terminal, as they are or reversed.
    const grounds = ground === undefined ? backgrounds : [colourOf(ground)];
    const ratios = grounds.map((each) => (text === undefined ? Infinity : contrast(colourOf(text), each)));
    return [terminal, Math.max(Math.min(...ratios), ENSURED[terminal] ?? 0)];
  });
}

const below = (role: Role, least: number): Record<string, number> =>
  Object.fromEntries(
    contrastsOf(role).flatMap(([terminal, ratio]) => (ratio < least ? [[terminal, Number(ratio.toFixed(2))]] : [])),
  );

describe('on the default palettes of common terminals', () => {
  it.each(['good', 'plus', 'attention', 'accent', 'bad', 'minus'] as const)('%s has a contrast of 4.5', (role) => {
    expect(below(role, 4.5)).toEqual({});
  });

  it.each([
    ['heading', STYLE],
    ['muted', STYLE],
    ['bad', CONSOLE_STYLE],
    ['minus', CONSOLE_STYLE],
  ] as const)('%s is in the terminal’s own colours', (role, style) => {
    expect(coloursOf(role, style)).toEqual({ text: undefined, ground: undefined });
    expect(style[role]('x')).not.toBe('x');
  });
});

/** The roles as letters around what they paint. */
const MARKED = Object.fromEntries(
  Object.keys(PLAIN).map((role) => [role, (text: string) => `<${role}>${text}</>`]),
) as unknown as typeof PLAIN;

it.each([
  ['ok    config  no warnings', '<good>ok</>    config  no warnings'],
  ['FAIL  dns  not found', '<bad>FAIL</>  dns  not found'],
  ['5 ok, 1 warning, 0 failed', '5 ok, <attention>1 warning</>, 0 failed'],
  ['8 applied, 2 failed, 1 conflict', '8 applied, <bad>2 failed</>, <attention>1 conflict</>'],
  ['  pet 7  13 → 25  +12  Goldfish', '  pet 7  13 → 25  <plus>+12</>  Goldfish'],
  ['Pet 7: 12 → 10 (-2) in sandbox.', 'Pet 7: 12 → 10 (<minus>-2</>) in sandbox.'],
  ['  pet 3: conflict, the file expects 2', '  pet 3: <attention>conflict</>, the file expects 2'],
  ['hint: petstore inventory adjust 7 -1', '<accent>hint:</> petstore inventory adjust 7 -1'],
])('of %j only what has a role is painted', async (line, painted) => {
  expect(await forPeople([line], { width: undefined, style: MARKED })).toBe(painted);
});

it('wraps between words, below the label of a message or set in by two columns', async () => {
  const lines = ['error: a sentence that has many words', 'another sentence that has many words'];
  expect(await forPeople(lines, { width: 32, style: PLAIN })).toBe(
    'error: a sentence that has many\n       words\nanother sentence that has many\n  words',
  );
});
