/** What the scripts of bash and zsh are written in. */
import type { ValueRow } from './menu.ts';

export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** `*` stands for any command or position, and must not be quoted. */
function pattern(key: string): string {
  if (key.startsWith('*:')) return `*${quote(key.slice(1))}`;
  return key.endsWith(':*') ? `${quote(key.slice(0, -1))}*` : quote(key);
}

/** The branches of a `case`, each of which sets what is known of one value. */
export function branches(rows: readonly ValueRow[], head: (patterns: readonly string[]) => string): string {
  return rows
    .map(({ keys, value, list, variadic }) => {
      const flags = `${list ? ' list=1' : ''}${variadic ? ' variadic=1' : ''}`;
      return `    ${head(keys.map(pattern))} value=${quote(value)}${flags} ;;`;
    })
    .join('\n');
}
