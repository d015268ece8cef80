/** What each shell must propose for a typed line, split into words; the cursor is at the last one. */

export interface Case {
  readonly words: readonly string[];
  /** Exactly these. */
  readonly proposes?: readonly string[];
  /** These among others, and none of those. */
  readonly includes?: readonly string[];
  readonly excludes?: readonly string[];
}

export const CASES: readonly Case[] = [
  { words: ['inv'], proposes: ['inventory'] },
  { words: ['inventory', 'h'], proposes: ['history'] },
  { words: ['inventory', ''], includes: ['list', 'set', 'import', 'undo'], excludes: ['login', '--env'] },
  { words: ['--env', 'sandbox', 'inventory', 'hi'], proposes: ['history'] },
  { words: ['-e', 's'], proposes: ['staging', 'sandbox'] },
  { words: ['--env', ''], proposes: ['production', 'staging', 'sandbox'] },
  { words: ['inventory', 'list', '--st'], proposes: ['--status'] },
  { words: ['inventory', 'list', '--status', ''], proposes: ['available', 'pending', 'sold'] },
  { words: ['inventory', 'list', '--status', 'available', 'p'], proposes: ['pending'] },
  { words: ['inventory', 'list', '--status', 'sold', '--fail-if-n'], proposes: ['--fail-if-none'] },
  { words: ['inventory', 'list', '--sort', 'q'], proposes: ['quantity'] },
  { words: ['inventory', 'list', '--max', '3', '--sort', 'pet'], proposes: ['petId'] },
  { words: ['inventory', 'list', '-o', 'nd'], proposes: ['ndjson'] },
  { words: ['inventory', 'list', '--jso'], proposes: ['--json'] },
  { words: ['inventory', 'list', '--', '--st'], proposes: [] },
  { words: ['config', 'get', 'staging.b'], proposes: ['staging.base-url'] },
  { words: ['help', 'rate'], proposes: ['rate-limits'] },
  { words: ['help', 'inv'], proposes: ['inventory'] },
  { words: ['completion', 'po'], proposes: ['powershell'] },
  { words: ['smoke', '--only', 'limit-4'], proposes: ['limit-429'] },
  { words: ['api', 'PA'], proposes: ['PATCH'] },
  { words: ['inventory', 'set', '92'], proposes: ['9223372036854775807'] },
  { words: ['inventory', 'list', '--pet', '92'], proposes: ['9223372036854775807'] },
  { words: ['inventory', 'set', '7', ''], excludes: ['7', '9223372036854775807', 'list'] },
  { words: ['bogus', ''], excludes: ['list', 'sold'] },
];

const MARK = 'pwned';

/** Fifty words that would do something if a shell read them again; each leaves a file behind then. */
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
].map((text) => text.replaceAll('FILE', MARK));

export const MARK_FILE = MARK;
