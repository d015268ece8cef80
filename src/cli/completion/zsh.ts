/** Completion for zsh, autoloaded from fpath or sourced. */
import { ANY, FILES, MADE, type Menu, type Named, oneLine, PETS, type ValueRow } from './menu.ts';
import { branches, quote } from './posix.ts';

const described = (list: readonly Named[]): string =>
  list.map(({ name, summary }) => quote(`${name}:${oneLine(summary)}`)).join(' ');

const values = (rows: readonly ValueRow[]): string => branches(rows, (patterns) => `(${patterns.join('|')})`);

/** How the words before the cursor are read: the same for every tree. */
const WALK = `__petstore_offer_value() {
  [[ -n $list ]] && compset -P '*,'
  case $value in
    (${ANY}|'') _message 'a value' ;;
    (${FILES}) _files ;;
    (${PETS}) compadd -- \${(f)"$(petstore completion pets 2> /dev/null)"} ;;
    (*) compadd -- \${(s: :)value} ;;
  esac
}

_petstore() {
  local at= expects= more= over= word value list variadic
  # Not "commands" and "options": those are zsh's own.
  local -a subcommands switches everywhere
  local -i position=0 i

  for ((i = 2; i < CURRENT; i++)); do
    word=$words[i]
    if [[ -n $expects ]]; then
      expects=
      continue
    fi
    [[ -n $more && $word != -* ]] && continue
    more=
    __petstore_at "$at"
    if [[ -n $over ]]; then
      position+=1
    elif [[ $word == -- ]]; then
      over=1
    elif [[ $word == --*=* ]]; then
      :
    elif [[ $word == -* ]]; then
      __petstore_option "$at:$word"
      if [[ -n $value ]]; then
        expects=$word
        [[ -n $variadic ]] && more=$word
      fi
    elif (( \${subcommands[(I)\${(b)word}:*]} )); then
      at=\${at:+$at }$word
    else
      position+=1
    fi
  done

  word=$PREFIX
  if [[ -n $expects || (-n $more && $word != -*) ]]; then
    __petstore_option "$at:\${expects:-$more}"
    __petstore_offer_value
    return
  fi
  if [[ -z $over && $word == --*=* ]]; then
    __petstore_option "$at:\${word%%=*}"
    compset -P '*='
    __petstore_offer_value
    return
  fi
  __petstore_at "$at"
  if [[ -z $over && $word == -* ]]; then
    switches+=("\${everywhere[@]}")
    _describe -o option switches
    return
  fi
  if (( $#subcommands )); then
    _describe command subcommands
    return
  fi
  __petstore_argument "$at:$position"
  if [[ -n $value ]]; then
    __petstore_offer_value
  elif [[ -z $word$over ]]; then
    # With nothing to name, the command's own options are what could come.
    _describe -o option switches
  fi
}

if [[ $funcstack[1] == _petstore ]]; then
  _petstore "$@"
else
  compdef _petstore petstore
fi
`;

export function zshScript({ places, globals, optionValues, argumentValues }: Menu): string {
  const at = places.map(
    ({ path, commands, options }) =>
      `    (${quote(path)}) subcommands=(${described(commands)}) switches=(${described(options)}) ;;`,
  );
  return `#compdef petstore
# zsh completion for petstore. ${MADE}
# Nothing that was typed is evaluated: words are compared, and that is all.

# What may stand after the words "$1": sets subcommands, switches, and the switches of every command.
__petstore_at() {
  subcommands=() switches=()
  everywhere=(${described(globals)})
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
