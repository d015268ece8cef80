# bash completion for petstore. Made from the commands by "npm run generate".
# Nothing that was typed is evaluated: words are compared, and that is all.

# What may stand after the words "$1": sets commands, options, and the options of every command.
__petstore_at() {
  commands= options= globals='-e --env --base-url --insecure-http -o --output --json --color --no-input -y --yes -q --quiet -v --verbose --debug --show-limits --timeout --max-wait --wait --no-wait --reserve --deadline --max-body -h --help -V --version'
  case $1 in
    '') commands='inventory limits smoke wait doctor api login logout status config sandbox completion help' options='' ;;
    'inventory') commands='list set adjust import count edit history undo' options='' ;;
    'config') commands='list get set unset path' options='' ;;
    'sandbox') commands='serve status keys seed reset' options='' ;;
    'inventory list') commands='' options='--status --pet --min --max --sort --desc --columns --no-header --watch --fail-if-any --fail-if-none' ;;
    'inventory set') commands='' options='--dry-run --expect --allow-negative' ;;
    'inventory adjust') commands='' options='--expect --allow-negative' ;;
    'inventory import') commands='' options='--dry-run --exit-code --allow-negative --events --journal --resume --status' ;;
    'inventory count') commands='' options='--prefix --resume' ;;
    'inventory edit') commands='' options='--status --pet --min --max --allow-negative' ;;
    'inventory history') commands='' options='--pet --import --limit --journal' ;;
    'inventory undo') commands='' options='--last --import' ;;
    'limits') commands='' options='--refresh --clear-block' ;;
    'smoke') commands='' options='--format --out --only --skip --write --pet --provoke-429 --list --max-latency --max-skew --wait-ready' ;;
    'wait') commands='' options='--pet --quantity --min --max --status --for --interval' ;;
    'doctor') commands='' options='--offline --domain --target --ca --redirect --dns-server --connect' ;;
    'api') commands='' options='-f --field --input -i --include' ;;
    'login') commands='' options='--key-stdin --no-verify' ;;
    'logout') commands='' options='--all' ;;
    'status') commands='' options='' ;;
    'config list') commands='' options='' ;;
    'config get') commands='' options='' ;;
    'config set') commands='' options='' ;;
    'config unset') commands='' options='' ;;
    'config path') commands='' options='' ;;
    'sandbox serve') commands='' options='--port --host --allow-host --plan --per-minute --per-day --minute --data --seed --key --ban-after --ban-for --ban-status --quantity --clock-skew --retry-after-format --with-undocumented --fault --fault-seed --log' ;;
    'sandbox status') commands='' options='--data' ;;
    'sandbox keys') commands='' options='--add --remove --unban --data' ;;
    'sandbox seed') commands='' options='--pets --file --data' ;;
    'sandbox reset') commands='' options='--data' ;;
    'completion') commands='' options='--install' ;;
    'help') commands='' options='' ;;
  esac
}

# What may follow the option "path:option": sets value, list and variadic; an empty value is none at all.
__petstore_option() {
  value= list= variadic=
  case $1 in
    'inventory list:--status') value='available pending sold' list=1 variadic=1 ;;
    'inventory list:--pet') value='@pets' list=1 variadic=1 ;;
    'inventory list:--min') value='@any' ;;
    'inventory list:--max') value='@any' ;;
    'inventory list:--sort') value='petId quantity status' ;;
    'inventory list:--columns') value='petId quantity status' list=1 ;;
    'inventory set:--expect') value='@any' ;;
    'inventory adjust:--expect') value='@any' ;;
    'inventory import:--journal') value='@files' ;;
    'inventory count:--prefix') value='@any' ;;
    'inventory edit:--status') value='available pending sold' list=1 variadic=1 ;;
    'inventory edit:--pet') value='@pets' list=1 variadic=1 ;;
    'inventory edit:--min') value='@any' ;;
    'inventory edit:--max') value='@any' ;;
    'inventory history:--pet') value='@pets' list=1 variadic=1 ;;
    'inventory history:--import') value='@any' ;;
    'inventory history:--limit') value='@any' ;;
    'inventory history:--journal') value='@files' ;;
    'inventory undo:--import') value='@any' ;;
    'smoke:--format') value='text junit tap json github' ;;
    'smoke:--out') value='@files' ;;
    'smoke:--only') value='reachable tls list-status list-type list-rows list-ids limit-headers limit-values limit-reset clock latency keyless-status wrong-status error-body error-status unknown-status write-same write-set write-restore write-unknown write-bad-json write-no-quantity write-text write-fraction limit-429 limit-retry' list=1 ;;
    'smoke:--skip') value='reachable tls list-status list-type list-rows list-ids limit-headers limit-values limit-reset clock latency keyless-status wrong-status error-body error-status unknown-status write-same write-set write-restore write-unknown write-bad-json write-no-quantity write-text write-fraction limit-429 limit-retry' list=1 ;;
    'smoke:--pet') value='@pets' ;;
    'smoke:--max-latency') value='@any' ;;
    'smoke:--max-skew') value='@any' ;;
    'smoke:--wait-ready') value='@any' ;;
    'wait:--pet') value='@pets' ;;
    'wait:--quantity') value='@any' ;;
    'wait:--min') value='@any' ;;
    'wait:--max') value='@any' ;;
    'wait:--status') value='available pending sold' ;;
    'wait:--for') value='@any' ;;
    'wait:--interval') value='@any' ;;
    'doctor:--domain') value='@any' ;;
    'doctor:--target') value='@any' ;;
    'doctor:--ca') value='@any' ;;
    'doctor:--redirect') value='@any' ;;
    'doctor:--dns-server') value='@any' ;;
    'doctor:--connect') value='@any' ;;
    'api:-f' | 'api:--field') value='@any' ;;
    'api:--input') value='@files' ;;
    'sandbox serve:--port') value='@any' ;;
    'sandbox serve:--host') value='@any' ;;
    'sandbox serve:--allow-host') value='@any' variadic=1 ;;
    'sandbox serve:--plan') value='free pro business custom' ;;
    'sandbox serve:--per-minute') value='@any' ;;
    'sandbox serve:--per-day') value='@any' ;;
    'sandbox serve:--minute') value='@any' ;;
    'sandbox serve:--data') value='@files' ;;
    'sandbox serve:--seed') value='@files' ;;
    'sandbox serve:--key') value='@any' variadic=1 ;;
    'sandbox serve:--ban-after') value='@any' ;;
    'sandbox serve:--ban-for') value='@any' ;;
    'sandbox serve:--ban-status') value='@any' ;;
    'sandbox serve:--quantity') value='@any' ;;
    'sandbox serve:--clock-skew') value='@any' ;;
    'sandbox serve:--retry-after-format') value='seconds date' ;;
    'sandbox serve:--fault') value='@any' ;;
    'sandbox serve:--fault-seed') value='@any' ;;
    'sandbox serve:--log') value='@files' ;;
    'sandbox status:--data') value='@files' ;;
    'sandbox keys:--add') value='@any' ;;
    'sandbox keys:--remove') value='@any' ;;
    'sandbox keys:--unban') value='@any' ;;
    'sandbox keys:--data') value='@files' ;;
    'sandbox seed:--pets') value='@any' ;;
    'sandbox seed:--file') value='@files' ;;
    'sandbox seed:--data') value='@files' ;;
    'sandbox reset:--data') value='@files' ;;
    *':-e' | *':--env') value='production staging sandbox' ;;
    *':--base-url') value='@any' ;;
    *':-o' | *':--output') value='table json ndjson csv' ;;
    *':--color') value='auto always never' ;;
    *':--timeout') value='@any' ;;
    *':--max-wait') value='forever' ;;
    *':--reserve') value='@any' ;;
    *':--deadline') value='@any' ;;
    *':--max-body') value='@any' ;;
  esac
}

# The same for an argument, "path:position".
__petstore_argument() {
  value= list= variadic=
  case $1 in
    'inventory set:0') value='@pets' ;;
    'inventory set:1') value='@any' ;;
    'inventory adjust:0') value='@pets' ;;
    'inventory adjust:1') value='@any' ;;
    'inventory import:0') value='@files' ;;
    'inventory undo:0') value='@any' ;;
    'api:0') value='GET PATCH POST PUT DELETE HEAD OPTIONS' ;;
    'api:1') value='@any' ;;
    'config get:0') value='environment production.base-url production.api-key staging.base-url staging.api-key' ;;
    'config set:0') value='environment production.base-url production.api-key staging.base-url staging.api-key' ;;
    'config set:1') value='@any' ;;
    'config unset:0') value='environment production.base-url production.api-key staging.base-url staging.api-key' ;;
    'completion:0') value='bash zsh fish powershell pets' ;;
    'help:'*) value='environments output rate-limits scripting exit-codes inventory limits smoke wait doctor api login logout status config sandbox completion help' variadic=1 ;;
  esac
}

# Offers those of the words "$3" that go on with "$2", each after "$1".
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
    before=$before${begun%,*},
    begun=${begun##*,}
  fi
  case $value in
    @any | '') ;;
    @files) compopt -o default 2> /dev/null ;;
    @pets) __petstore_offer "$before" "$begun" "$(petstore completion pets 2> /dev/null)" ;;
    *) __petstore_offer "$before" "$begun" "$value" ;;
  esac
  return 0
}

_petstore() {
  local IFS=$' \t\n' words=() count=0 word previous= i
  local path= position=0 expects= more= over= commands options globals value list variadic
  COMPREPLY=()

  # Where "=" breaks words, --env=x comes as three.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $count -gt 0 && ($word == '=' || $previous == '=') && ${words[count - 1]} == --* ]]; then
      words[count - 1]=${words[count - 1]}$word
    else
      words[count]=$word
      count=$((count + 1))
    fi
    previous=$word
  done

  for ((i = 0; i < count - 1; i++)); do
    word=${words[i]}
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
      path=${path:+$path }$word
    else
      position=$((position + 1))
    fi
  done

  word=${words[count - 1]}
  if [[ -n $expects || (-n $more && $word != -*) ]]; then
    __petstore_option "$path:${expects:-$more}"
    __petstore_offer_value '' "$word"
    return 0
  fi
  if [[ -z $over && $word == --*=* ]]; then
    __petstore_option "$path:${word%%=*}"
    if [[ $COMP_WORDBREAKS == *=* ]]; then
      __petstore_offer_value '' "${word#*=}"
    else
      __petstore_offer_value "${word%%=*}=" "${word#*=}"
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
