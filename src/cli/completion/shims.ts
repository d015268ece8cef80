/** For each shell a script that asks `petstore __complete`. It compares and shows words, and evaluates none of them. */

export type Shell = 'bash' | 'zsh' | 'fish' | 'powershell';

const BASH = `# bash completion for petstore, for bash 3.2 and newer.
_petstore() {
  local words=() count=0 word previous= line before= i
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
  word=\${words[count - 1]}
  [[ $word == --*=* && $COMP_WORDBREAKS == *=* ]] && before=\${word%%=*}=
  while IFS= read -r line; do
    case $line in
      :files) compopt -o default 2> /dev/null ;;
      :*) ;;
      *) line=\${line%%$'\\t'*} && COMPREPLY+=("\${line#"$before"}") ;;
    esac
  done < <(petstore __complete "\${words[@]}" 2> /dev/null)
  return 0
}
complete -F _petstore petstore
`;

const ZSH = `#compdef petstore
# zsh completion for petstore, autoloaded from fpath or sourced.
_petstore() {
  local line name
  local -a found
  for line in "\${(@f)$(petstore __complete "\${(@)words[2,CURRENT-1]}" "$PREFIX" 2> /dev/null)}"; do
    case $line in
      (:files) [[ $PREFIX == --*=* ]] && compset -P '*='; _files ;;
      (:*|'') ;;
      (*)
        name=\${line%%$'\\t'*}
        line=\${line#"$name"}
        found+=("\${name//:/\\\\:}\${line:+:\${line[2,-1]}}")
        ;;
    esac
  done
  (( $#found )) && _describe petstore found
}
if [[ $funcstack[1] == _petstore ]]; then
  _petstore "$@"
else
  compdef _petstore petstore
fi
`;

const FISH = `# fish completion for petstore.
function __petstore_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for line in (petstore __complete $words[2..-1] "$word" 2>/dev/null)
        switch "$line"
            case ':files'
                set -l parts (string match -r -- '^(--[^=]*=)?(.*)$' "$word")
                for path in (__fish_complete_path "$parts[3]")
                    printf '%s\\n' "$parts[2]$path"
                end
            case ':*'
            case '*'
                printf '%s\\n' "$line"
        end
    end
end
complete -c petstore -f -a '(__petstore_complete)'
`;

const POWERSHELL = `# PowerShell completion for petstore, for PowerShell 5.1 and newer.
Register-ArgumentCompleter -Native -CommandName petstore -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.Extent.Text })
    $word = [string]$wordToComplete
    # Versions before 7.3 leave out an argument that is empty.
    if (-not $word -and $PSVersionTable.PSVersion -lt [version]'7.3') { $word = '""' }
    foreach ($line in @(& petstore __complete @words $word 2>$null)) {
        if ($line.StartsWith(':')) { continue }
        $name, $tip = $line -split "\`t", 2
        if (-not $tip) { $tip = $name }
        [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $tip)
    }
}
`;

/** The script of each shell, with the name of the file that its users expect it in. */
export const SHIMS: Readonly<Record<Shell, { readonly file: string; readonly script: string }>> = {
  bash: { file: 'petstore.bash', script: BASH },
  zsh: { file: '_petstore', script: ZSH },
  fish: { file: 'petstore.fish', script: FISH },
  powershell: { file: 'petstore.ps1', script: POWERSHELL },
};
