# bash completion for petstore, for bash 3.2 and newer.
_petstore() {
  local words=() count=0 word previous= line before= i
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
  word=${words[count - 1]}
  [[ $word == --*=* && $COMP_WORDBREAKS == *=* ]] && before=${word%%=*}=
  while IFS= read -r line; do
    case $line in
      :files) compopt -o default 2> /dev/null ;;
      :*) ;;
      *) line=${line%%$'\t'*} && COMPREPLY+=("${line#"$before"}") ;;
    esac
  done < <(petstore __complete "${words[@]}" 2> /dev/null)
  return 0
}
complete -F _petstore petstore
