# bash completion for petstore, for bash 3.2 and newer.
_petstore() {
  local words=() count=0 word rest=${COMP_LINE#"${COMP_WORDS[0]}"} line before i
  COMPREPLY=()
  # "=", ":" and "@" break words: --env=x comes as three, without spaces between them in the line.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    [[ $count -eq 0 || $rest == [[:space:]]* ]] && count=$((count + 1))
    words[count - 1]=${words[count - 1]-}$word
    rest=${rest#"${rest%%[![:space:]]*}"}
    rest=${rest#"$word"}
  done
  word=${words[count - 1]}
  before=${word%"${word##*[$COMP_WORDBREAKS]}"}
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
