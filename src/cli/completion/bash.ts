/** Completion for bash 3.2 and newer, with or without the bash-completion package. */
import { ANY, FILES, MADE, type Menu, PETS, type ValueRow } from './menu.ts';
import { branches, quote } from './posix.ts';

const names = (list: readonly { readonly name: string }[]): string => list.map(({ name }) => name).join(' ');

const values = (rows: readonly ValueRow[]): string => branches(rows, (patterns) => `${patterns.join(' | ')})`);

/** How the words before the cursor are read: the same for every tree. */
const WALK = `# Offers those of the words "$3" that go on with "$2", each after "$1".
__petstore_offer() {
  local each
  for each in $3; do
    [[ $each == "$2"* ]] && COMPREPLY+=("$1$each")
  done
  return 0
}

# Offers what the value is known to be; "$1" stands before it in the same word, "$2" is its beginning.
__petstore_offer_value() {
  local before=$1 begun=$2
  if [[ -n $list && $begun == *,* ]]; then
    before=$before\${begun%,*},
    begun=\${begun##*,}
  fi
  case $value in
    ${ANY} | '') ;;
    ${FILES}) compopt -o default 2> /dev/null ;;
    ${PETS}) __petstore_offer "$before" "$begun" "$(petstore completion pets 2> /dev/null)" ;;
    *) __petstore_offer "$before" "$begun" "$value" ;;
  esac
  return 0
}

_petstore() {
  local IFS=$' \\t\\n' words=() count=0 word previous= i
  local path= position=0 expects= more= over= commands options globals value list variadic
  COMPREPLY=()

  # Where "=" breaks words, --env=x comes as three.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ $count -gt 0 && ($word == '=' || $previous == '=') && \${words[count - 1]} == --* ]]; then
      words[count - 1]=\${words[count - 1]}$word
    else
      words[count]=$word
      count=$((count + 1))
    fi
    previous=$word
  done

  for ((i = 0; i < count - 1; i++)); do
    word=\${words[i]}
    if [[ -n $expects ]]; then
      expects=
      continue
    fi
    [[ -n $more && $word != -* ]] && continue
    more=
    __petstore_at "$path"
    if [[ -n $over ]]; then
      position=$((position + 1))
    elif [[ $word == -- ]]; then
      over=1
    elif [[ $word == --*=* ]]; then
      :
    elif [[ $word == -* ]]; then
      __petstore_option "$path:$word"
      if [[ -n $value ]]; then
        expects=$word
        [[ -n $variadic ]] && more=$word
      fi
    elif [[ " $commands " == *" $word "* ]]; then
      path=\${path:+$path }$word
    else
      position=$((position + 1))
    fi
  done

  word=\${words[count - 1]}
  if [[ -n $expects || (-n $more && $word != -*) ]]; then
    __petstore_option "$path:\${expects:-$more}"
    __petstore_offer_value '' "$word"
    return 0
  fi
  if [[ -z $over && $word == --*=* ]]; then
    __petstore_option "$path:\${word%%=*}"
    if [[ $COMP_WORDBREAKS == *=* ]]; then
      __petstore_offer_value '' "\${word#*=}"
    else
      __petstore_offer_value "\${word%%=*}=" "\${word#*=}"
    fi
    return 0
  fi
  __petstore_at "$path"
  if [[ -z $over && $word == -* ]]; then
    __petstore_offer '' "$word" "$options $globals"
    return 0
  fi
  if [[ -n $commands ]]; then
    __petstore_offer '' "$word" "$commands"
    return 0
  fi
  __petstore_argument "$path:$position"
  __petstore_offer_value '' "$word"
  # With nothing to name, the command's own options are what could come.
  [[ -z $value && -z $word && -z $over ]] && __petstore_offer '' '' "$options"
  return 0
}

complete -F _petstore petstore
`;

export function bashScript({ places, globals, optionValues, argumentValues }: Menu): string {
  const at = places.map(
    ({ path, commands, options }) =>
      `    ${quote(path)}) commands=${quote(names(commands))} options=${quote(names(options))} ;;`,
  );
  return `# bash completion for petstore. ${MADE}
# Nothing that was typed is evaluated: words are compared, and that is all.

# What may stand after the words "$1": sets commands, options, and the options of every command.
__petstore_at() {
  commands= options= globals=${quote(names(globals))}
  case $1 in
${at.join('\n')}
  esac
}

# What may follow the option "path:option": sets value, list and variadic; an empty value is none at all.
__petstore_option() {
  value= list= variadic=
  case $1 in
${values(optionValues)}
  esac
}

# The same for an argument, "path:position".
__petstore_argument() {
  value= list= variadic=
  case $1 in
${values(argumentValues)}
  esac
}

${WALK}`;
}
