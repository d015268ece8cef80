# fish completion for petstore.
function __petstore_complete
    set -l words (commandline -opc)
    # Removes an open quote and backslashes, because proposals have none.
    set -l word (commandline -ct | string replace -r '^(--[^=]*=|)["\']' '$1' | string unescape)
    for line in (petstore __complete $words[2..-1] "$word" 2>/dev/null)
        switch "$line"
            case ':files'
                set -l parts (string match -r -- '^(--[^=]*=|)(.*)$' "$word")
                for path in (__fish_complete_path "$parts[3]")
                    printf '%s\n' "$parts[2]$path"
                end
            case ':*'
            case '*'
                printf '%s\n' "$line"
        end
    end
end
complete -c petstore -f -a '(__petstore_complete)'
