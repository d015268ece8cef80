/** What came to a terminal, as the terminal shows it in the end. */
import xterm from '@xterm/headless';

export async function screenOf(output: string, size: { cols: number; rows: number }): Promise<string[]> {
  const terminal = new xterm.Terminal({ ...size, scrollback: 1_000, allowProposedApi: true });
  await new Promise<void>((resolve) => {
    terminal.write(output, resolve);
  });
  const { active } = terminal.buffer;
  const lines = Array.from({ length: active.length }, (_, i) => active.getLine(i)?.translateToString(true) ?? '');
  return lines.join('\n').trimEnd().split('\n');
}
