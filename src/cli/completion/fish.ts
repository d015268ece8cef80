/** Completion for fish. */
import { ANY, FILES, MADE, type Menu, type Named, oneLine, PETS, type ValueRow } from './menu.ts';

const quote = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;
const described = (list: readonly Named[]): string =>
  list.map(({ name, summary }) => `${quote(name)}\\t${quote(oneLine(summary))}`).join(' ');

function values(rows: readonly ValueRow[]): string {
  return rows
    .map(({ keys, value, list, variadic }) => {
      const flags = [value, ...(list ? ['list'] : []), ...(variadic ? ['variadic'] : [])].map(quote).join(' ');
      return `        case ${keys.map(quote).join(' ')}\n            printf '%s\\n' ${flags}`;
    })
    .join('\n');
}

/** How the words before the cursor are read: the same for every tree. */
const WALK = `# "$argv[1]" stands before the value in the same word, "$argv[2]" is its beginning, the rest is what is known of it.
function __petstore_offer_value
    set -l before $argv[1]
    set -l begun $argv[2]
    if contains -- list $argv[4..-1]; and string match -q -- '*,*' $begun
        set before $before(string replace -r -- '[^,]*$' '' $begun)
    end
    switch "$argv[3]"
        case '' '${ANY}'
        case '${FILES}'
            __fish_complete_path $begun
        case '${PETS}'
            for id in (petstore completion pets 2>/dev/null)
                printf '%s\\n' $before$id
            end
        case '*'
            for word in (string split ' ' -- $argv[3])
                printf '%s\\n' $before$word
            end
    end
end

function __petstore_complete
    set -l path ''
    set -l position 0
    set -l expects ''
    set -l more ''
    set -l over ''
    set -l tokens (commandline -opc)
    for word in $tokens[2..-1]
        if test -n "$expects"
            set expects ''
            continue
        end
        if test -n "$more"; and not string match -q -- '-*' $word
            continue
        end
        set more ''
        if test -n "$over"
            set position (math $position + 1)
        else if test "$word" = --
            set over 1
        else if string match -q -- '--*=*' $word
        else if string match -q -- '-*' $word
            set -l known (__petstore_option "$path:$word")
            if test -n "$known[1]"
                set expects $word
                contains -- variadic $known[2..-1]; and set more $word
            end
        else if contains -- $word (__petstore_commands $path | string replace -r '\\t.*' '')
            set path (string trim "$path $word")
        else
            set position (math $position + 1)
        end
    end

    set -l word (commandline -ct)
    set -l isOption (string match -q -- '-*' $word; and echo 1)
    if test -n "$expects"; or test -n "$more" -a -z "$isOption"
        set -l option $expects
        test -n "$option"; or set option $more
        __petstore_offer_value '' "$word" (__petstore_option "$path:$option")
    else if test -z "$over"; and string match -q -- '--*=*' $word
        set -l parts (string split -m 1 = -- $word)
        __petstore_offer_value "$parts[1]=" "$parts[2]" (__petstore_option "$path:$parts[1]")
    else if test -z "$over"; and test -n "$isOption"
        __petstore_options $path
        __petstore_globals
    else
        set -l commands (__petstore_commands $path)
        if set -q commands[1]
            printf '%s\\n' $commands
        else
            set -l known (__petstore_argument "$path:$position")
            __petstore_offer_value '' "$word" $known
            # With nothing to name, the command's own options are what could come.
            if not set -q known[1]; and test -z "$word$over"
                __petstore_options $path
            end
        end
    end
end

complete -c petstore -f -a '(__petstore_complete)'
`;

export function fishScript({ places, globals, optionValues, argumentValues }: Menu): string {
  const lists = (of: 'commands' | 'options'): string =>
    places
      .filter((place) => place[of].length > 0)
      .map((place) => `        case ${quote(place.path)}\n            printf '%s\\n' ${described(place[of])}`)
      .join('\n');
  return `# fish completion for petstore. ${MADE}
# Nothing that was typed is evaluated: words are compared, and that is all.

# The commands that may stand after the words "$argv[1]", one a line, with a tab before what they do.
function __petstore_commands
    switch "$argv[1]"
${lists('commands')}
    end
end

function __petstore_options
    switch "$argv[1]"
${lists('options')}
    end
end

function __petstore_globals
    printf '%s\\n' ${described(globals)}
end

# What may follow the option "path:option": the value, then perhaps "list" and "variadic"; nothing for none at all.
function __petstore_option
    switch "$argv[1]"
${values(optionValues)}
    end
end

# The same for an argument, "path:position".
function __petstore_argument
    switch "$argv[1]"
${values(argumentValues)}
    end
end

${WALK}`;
}
