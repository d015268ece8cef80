# fish completion for petstore. Made from the commands by "npm run generate".
# Nothing that was typed is evaluated: words are compared, and that is all.

# The commands that may stand after the words "$argv[1]", one a line, with a tab before what they do.
function __petstore_commands
    switch "$argv[1]"
        case ''
            printf '%s\n' 'inventory'\t'Stock levels of the pets' 'limits'\t'Show what is left of the key\'s allowance, without a request' 'smoke'\t'Check that the service answers and keeps its contract, for CI' 'wait'\t'Wait until a pet has a quantity or a status' 'doctor'\t'Look for what is wrong with this machine, the way to the service, or a custom domain' 'api'\t'Call any path of the service: same key, same limits, same safety' 'login'\t'Keep the base URL and API key of an environment' 'logout'\t'Drop the API key of an environment' 'status'\t'Show the environment, base URL and key in force' 'config'\t'Settings in the config file' 'sandbox'\t'The service itself, on this machine' 'completion'\t'Print the completion script of a shell, or install it' 'help'\t'Show help on a command or a topic'
        case 'inventory'
            printf '%s\n' 'list'\t'Show stock levels' 'set'\t'Set the stock of one pet' 'adjust'\t'Add to the stock of one pet, or take away from it' 'import'\t'Set the stock of many pets from a file' 'count'\t'Take stock with a barcode scanner: scan, see the differences, set them' 'edit'\t'Change stock in your editor' 'history'\t'Show what this machine changed: when, who, from what to what' 'undo'\t'Put back what this machine changed, if nobody else has touched it since'
        case 'config'
            printf '%s\n' 'list'\t'Show every setting in the config file' 'get'\t'Show one setting' 'set'\t'Change one setting' 'unset'\t'Remove one setting' 'path'\t'Show where the config file is'
        case 'sandbox'
            printf '%s\n' 'serve'\t'Serve the sandbox over HTTP, for curl, tests and other clients' 'status'\t'Show what the sandbox holds, without a request' 'keys'\t'List the sandbox\'s keys and what they have used; add, remove, unban one' 'seed'\t'Put other pets into the sandbox, in place of all that are there' 'reset'\t'Make the sandbox as new: its 25 pets, no limits used, no bans, no keys of your own'
    end
end

function __petstore_options
    switch "$argv[1]"
        case 'inventory list'
            printf '%s\n' '--status'\t'only pets of this status: available, pending, sold' '--pet'\t'only these pets' '--min'\t'only a quantity of at least this' '--max'\t'only a quantity of at most this' '--sort'\t'sort by petId, quantity, status (default: the service\'s order)' '--desc'\t'with --sort: the largest first' '--columns'\t'which fields to show, in this order, e.g. petId,quantity' '--no-header'\t'leave out the header line (table, csv)' '--watch'\t'go on looking, and print what changes (default: every 10s, less often if the allowance is short)' '--fail-if-any'\t'exit 13 if any pet is listed' '--fail-if-none'\t'exit 13 if no pet is listed'
        case 'inventory set'
            printf '%s\n' '--dry-run'\t'show the request and send nothing' '--expect'\t'read first, and refuse (exit 13) if the quantity is another; a change by another machine in between is not seen' '--allow-negative'\t'allow a quantity below zero'
        case 'inventory adjust'
            printf '%s\n' '--expect'\t'refuse (exit 13) if the present quantity is another' '--allow-negative'\t'allow a result below zero; without it, exit 13'
        case 'inventory import'
            printf '%s\n' '--dry-run'\t'show what would change and send nothing' '--exit-code'\t'with --dry-run: exit 13 if anything would change, or a row cannot be applied' '--allow-negative'\t'allow quantities below zero' '--events'\t'print one JSON object for each row as it is done, and one at the end' '--journal'\t'keep the journal there in place of the state folder' '--resume'\t'go on with a run that was stopped; the newest, unless its number is given' '--status'\t'list the runs that were stopped'
        case 'inventory count'
            printf '%s\n' '--prefix'\t'what stands before each id on the labels' '--resume'\t'go on scanning; the newest stocktake, unless its number is given'
        case 'inventory edit'
            printf '%s\n' '--status'\t'only pets of this status: available, pending, sold' '--pet'\t'only these pets' '--min'\t'only a quantity of at least this' '--max'\t'only a quantity of at most this' '--allow-negative'\t'allow quantities below zero'
        case 'inventory history'
            printf '%s\n' '--pet'\t'only these pets' '--import'\t'only this run' '--limit'\t'how many (default: 50)' '--journal'\t'of a journal elsewhere'
        case 'inventory undo'
            printf '%s\n' '--last'\t'the last change' '--import'\t'all changes of a run'
        case 'limits'
            printf '%s\n' '--refresh'\t'ask the service first, with one request' '--clear-block'\t'forget a block; asks for the word, or --yes'
        case 'smoke'
            printf '%s\n' '--format'\t'text, junit, tap, json, github (default: text; json with --json)' '--out'\t'a report as well: JUnit for .xml, TAP for .tap, JSON for .json; or format=file; may be repeated' '--only'\t'only these checks' '--skip'\t'all but these checks' '--write'\t'check the update too, with --pet' '--pet'\t'the pet to set and to put back' '--provoke-429'\t'at the end spend the allowance and one request more; staging and sandbox only' '--list'\t'show the checks, and run none' '--max-latency'\t'longest time for the list' '--max-skew'\t'how far the service\'s clock may be off (default: 60s)' '--wait-ready'\t'wait until the service answers at all'
        case 'wait'
            printf '%s\n' '--pet'\t'the pet' '--quantity'\t'exactly this quantity' '--min'\t'at least this quantity' '--max'\t'at most this quantity' '--status'\t'available, pending, sold' '--for'\t'how long at most (default: --timeout where it is given, else 5m)' '--interval'\t'at least so long between two looks (default: 5s)'
        case 'doctor'
            printf '%s\n' '--offline'\t'look at this machine alone' '--domain'\t'look at this custom domain' '--target'\t'what the platform says the domain must point to' '--ca'\t'the platform\'s authority, as CAA records name it: letsencrypt.org' '--redirect'\t'an entry to check as well: from=HOST,to=HOST,status=301; may be repeated' '--dns-server'\t'the server to ask, ADDRESS[:PORT]; the zone\'s own knows of a change first' '--connect'\t'where to look at the certificate, in place of the domain\'s own address'
        case 'api'
            printf '%s\n' '-f'\t'a member of the JSON body; numbers, true, false and null as such; may be repeated' '--field'\t'a member of the JSON body; numbers, true, false and null as such; may be repeated' '--input'\t'the body; - for stdin' '-i'\t'print status and headers before the body' '--include'\t'print status and headers before the body'
        case 'login'
            printf '%s\n' '--key-stdin'\t'read the key from stdin, one line' '--no-verify'\t'keep the key without trying it'
        case 'logout'
            printf '%s\n' '--all'\t'the keys of all environments'
        case 'sandbox serve'
            printf '%s\n' '--port'\t'0 takes a free one (default: 4010)' '--host'\t'address to listen on; beyond this machine only with --key (default: 127.0.0.1)' '--allow-host'\t'further names that clients use for it' '--plan'\t'limits: free, pro, business, custom (default: free)' '--per-minute'\t'limit of a minute, for any plan' '--per-day'\t'limit of a day, for any plan' '--minute'\t'a shorter minute, for those who cannot wait (default: 60s)' '--data'\t'where the stock is kept (default: that of --env sandbox)' '--seed'\t'begin with the pets of a file, or with so many made-up ones' '--key'\t'valid keys in place of the usual one; made up, never a real one' '--ban-after'\t'early requests after a 429 that get a key banned; 0: never (default: 10)' '--ban-for'\t'how long a ban lasts (default: 15m)' '--ban-status'\t'what a banned key is answered (default: 403)' '--quantity'\t'quantities that are accepted (default: 0..2147483647)' '--clock-skew'\t'how far the sandbox\'s clock is off, for instance -1h (default: 0s)' '--retry-after-format'\t'seconds, date (default: seconds)' '--with-undocumented'\t'501 for what the specification only names: /pets/{petId}, /store/orders' '--fault'\t'something that goes wrong, as below; may be repeated' '--fault-seed'\t'the same seed, the same faults (default: 1)' '--log'\t'add one JSON object for each request to a file, in place of lines on stderr'
        case 'sandbox status'
            printf '%s\n' '--data'\t'the sandbox\'s file (default: that of --env sandbox)'
        case 'sandbox keys'
            printf '%s\n' '--add'\t'a further key' '--remove'\t'a key that was added' '--unban'\t'forget what a key has used, and its ban' '--data'\t'the sandbox\'s file (default: that of --env sandbox)'
        case 'sandbox seed'
            printf '%s\n' '--pets'\t'so many made-up pets' '--file'\t'those of a file' '--data'\t'the sandbox\'s file (default: that of --env sandbox)'
        case 'sandbox reset'
            printf '%s\n' '--data'\t'the sandbox\'s file (default: that of --env sandbox)'
        case 'completion'
            printf '%s\n' '--install'\t'write it to the user\'s own folder, and say what is left to do'
    end
end

function __petstore_globals
    printf '%s\n' '-e'\t'environment: production, staging, sandbox' '--env'\t'environment: production, staging, sandbox' '--base-url'\t'address of the service, ending in /v1' '--insecure-http'\t'allow http beyond this machine; the key is readable on the way' '-o'\t'table, json, ndjson, csv (default: table)' '--output'\t'table, json, ndjson, csv (default: table)' '--json'\t'short for --output json' '--color'\t'auto, always, never (default: auto)' '--no-input'\t'never ask; fail instead' '-y'\t'say yes to every question' '--yes'\t'say yes to every question' '-q'\t'no notes, no rate limits: data, warnings and errors only' '--quiet'\t'no notes, no rate limits: data, warnings and errors only' '-v'\t'one line on stderr for each request' '--verbose'\t'one line on stderr for each request' '--debug'\t'as --verbose, and what went wrong inside' '--show-limits'\t'print the rate limit also where stderr is no terminal' '--timeout'\t'longest time one attempt waits for the service (default: 60s)' '--max-wait'\t'longest wait for a rate limit or a retry, or "forever"; beyond it, exit 6 (default: 75s)' '--wait'\t'short for --max-wait forever' '--no-wait'\t'short for --max-wait 0' '--reserve'\t'requests of the key\'s allowance to leave for others' '--deadline'\t'longest time for the whole command (default: none)' '--max-body'\t'largest response accepted, decoded (default: 256MiB)' '-h'\t'show help' '--help'\t'show help' '-V'\t'print the version' '--version'\t'print the version'
end

# What may follow the option "path:option": the value, then perhaps "list" and "variadic"; nothing for none at all.
function __petstore_option
    switch "$argv[1]"
        case 'inventory list:--status'
            printf '%s\n' 'available pending sold' 'list' 'variadic'
        case 'inventory list:--pet'
            printf '%s\n' '@pets' 'list' 'variadic'
        case 'inventory list:--min'
            printf '%s\n' '@any'
        case 'inventory list:--max'
            printf '%s\n' '@any'
        case 'inventory list:--sort'
            printf '%s\n' 'petId quantity status'
        case 'inventory list:--columns'
            printf '%s\n' 'petId quantity status' 'list'
        case 'inventory set:--expect'
            printf '%s\n' '@any'
        case 'inventory adjust:--expect'
            printf '%s\n' '@any'
        case 'inventory import:--journal'
            printf '%s\n' '@files'
        case 'inventory count:--prefix'
            printf '%s\n' '@any'
        case 'inventory edit:--status'
            printf '%s\n' 'available pending sold' 'list' 'variadic'
        case 'inventory edit:--pet'
            printf '%s\n' '@pets' 'list' 'variadic'
        case 'inventory edit:--min'
            printf '%s\n' '@any'
        case 'inventory edit:--max'
            printf '%s\n' '@any'
        case 'inventory history:--pet'
            printf '%s\n' '@pets' 'list' 'variadic'
        case 'inventory history:--import'
            printf '%s\n' '@any'
        case 'inventory history:--limit'
            printf '%s\n' '@any'
        case 'inventory history:--journal'
            printf '%s\n' '@files'
        case 'inventory undo:--import'
            printf '%s\n' '@any'
        case 'smoke:--format'
            printf '%s\n' 'text junit tap json github'
        case 'smoke:--out'
            printf '%s\n' '@files'
        case 'smoke:--only'
            printf '%s\n' 'reachable tls list-status list-type list-rows list-ids limit-headers limit-values limit-reset clock latency keyless-status wrong-status error-body error-status unknown-status write-same write-set write-restore write-unknown write-bad-json write-no-quantity write-text write-fraction limit-429 limit-retry' 'list'
        case 'smoke:--skip'
            printf '%s\n' 'reachable tls list-status list-type list-rows list-ids limit-headers limit-values limit-reset clock latency keyless-status wrong-status error-body error-status unknown-status write-same write-set write-restore write-unknown write-bad-json write-no-quantity write-text write-fraction limit-429 limit-retry' 'list'
        case 'smoke:--pet'
            printf '%s\n' '@pets'
        case 'smoke:--max-latency'
            printf '%s\n' '@any'
        case 'smoke:--max-skew'
            printf '%s\n' '@any'
        case 'smoke:--wait-ready'
            printf '%s\n' '@any'
        case 'wait:--pet'
            printf '%s\n' '@pets'
        case 'wait:--quantity'
            printf '%s\n' '@any'
        case 'wait:--min'
            printf '%s\n' '@any'
        case 'wait:--max'
            printf '%s\n' '@any'
        case 'wait:--status'
            printf '%s\n' 'available pending sold'
        case 'wait:--for'
            printf '%s\n' '@any'
        case 'wait:--interval'
            printf '%s\n' '@any'
        case 'doctor:--domain'
            printf '%s\n' '@any'
        case 'doctor:--target'
            printf '%s\n' '@any'
        case 'doctor:--ca'
            printf '%s\n' '@any'
        case 'doctor:--redirect'
            printf '%s\n' '@any'
        case 'doctor:--dns-server'
            printf '%s\n' '@any'
        case 'doctor:--connect'
            printf '%s\n' '@any'
        case 'api:-f' 'api:--field'
            printf '%s\n' '@any'
        case 'api:--input'
            printf '%s\n' '@files'
        case 'sandbox serve:--port'
            printf '%s\n' '@any'
        case 'sandbox serve:--host'
            printf '%s\n' '@any'
        case 'sandbox serve:--allow-host'
            printf '%s\n' '@any' 'variadic'
        case 'sandbox serve:--plan'
            printf '%s\n' 'free pro business custom'
        case 'sandbox serve:--per-minute'
            printf '%s\n' '@any'
        case 'sandbox serve:--per-day'
            printf '%s\n' '@any'
        case 'sandbox serve:--minute'
            printf '%s\n' '@any'
        case 'sandbox serve:--data'
            printf '%s\n' '@files'
        case 'sandbox serve:--seed'
            printf '%s\n' '@files'
        case 'sandbox serve:--key'
            printf '%s\n' '@any' 'variadic'
        case 'sandbox serve:--ban-after'
            printf '%s\n' '@any'
        case 'sandbox serve:--ban-for'
            printf '%s\n' '@any'
        case 'sandbox serve:--ban-status'
            printf '%s\n' '@any'
        case 'sandbox serve:--quantity'
            printf '%s\n' '@any'
        case 'sandbox serve:--clock-skew'
            printf '%s\n' '@any'
        case 'sandbox serve:--retry-after-format'
            printf '%s\n' 'seconds date'
        case 'sandbox serve:--fault'
            printf '%s\n' '@any'
        case 'sandbox serve:--fault-seed'
            printf '%s\n' '@any'
        case 'sandbox serve:--log'
            printf '%s\n' '@files'
        case 'sandbox status:--data'
            printf '%s\n' '@files'
        case 'sandbox keys:--add'
            printf '%s\n' '@any'
        case 'sandbox keys:--remove'
            printf '%s\n' '@any'
        case 'sandbox keys:--unban'
            printf '%s\n' '@any'
        case 'sandbox keys:--data'
            printf '%s\n' '@files'
        case 'sandbox seed:--pets'
            printf '%s\n' '@any'
        case 'sandbox seed:--file'
            printf '%s\n' '@files'
        case 'sandbox seed:--data'
            printf '%s\n' '@files'
        case 'sandbox reset:--data'
            printf '%s\n' '@files'
        case '*:-e' '*:--env'
            printf '%s\n' 'production staging sandbox'
        case '*:--base-url'
            printf '%s\n' '@any'
        case '*:-o' '*:--output'
            printf '%s\n' 'table json ndjson csv'
        case '*:--color'
            printf '%s\n' 'auto always never'
        case '*:--timeout'
            printf '%s\n' '@any'
        case '*:--max-wait'
            printf '%s\n' 'forever'
        case '*:--reserve'
            printf '%s\n' '@any'
        case '*:--deadline'
            printf '%s\n' '@any'
        case '*:--max-body'
            printf '%s\n' '@any'
    end
end

# The same for an argument, "path:position".
function __petstore_argument
    switch "$argv[1]"
        case 'inventory set:0'
            printf '%s\n' '@pets'
        case 'inventory set:1'
            printf '%s\n' '@any'
        case 'inventory adjust:0'
            printf '%s\n' '@pets'
        case 'inventory adjust:1'
            printf '%s\n' '@any'
        case 'inventory import:0'
            printf '%s\n' '@files'
        case 'inventory undo:0'
            printf '%s\n' '@any'
        case 'api:0'
            printf '%s\n' 'GET PATCH POST PUT DELETE HEAD OPTIONS'
        case 'api:1'
            printf '%s\n' '@any'
        case 'config get:0'
            printf '%s\n' 'environment production.base-url production.api-key staging.base-url staging.api-key'
        case 'config set:0'
            printf '%s\n' 'environment production.base-url production.api-key staging.base-url staging.api-key'
        case 'config set:1'
            printf '%s\n' '@any'
        case 'config unset:0'
            printf '%s\n' 'environment production.base-url production.api-key staging.base-url staging.api-key'
        case 'completion:0'
            printf '%s\n' 'bash zsh fish powershell pets'
        case 'help:*'
            printf '%s\n' 'environments output rate-limits scripting exit-codes inventory limits smoke wait doctor api login logout status config sandbox completion help' 'variadic'
    end
end

# "$argv[1]" stands before the value in the same word, "$argv[2]" is its beginning, the rest is what is known of it.
function __petstore_offer_value
    set -l before $argv[1]
    set -l begun $argv[2]
    if contains -- list $argv[4..-1]; and string match -q -- '*,*' $begun
        set before $before(string replace -r -- '[^,]*$' '' $begun)
    end
    switch "$argv[3]"
        case '' '@any'
        case '@files'
            __fish_complete_path $begun
        case '@pets'
            for id in (petstore completion pets 2>/dev/null)
                printf '%s\n' $before$id
            end
        case '*'
            for word in (string split ' ' -- $argv[3])
                printf '%s\n' $before$word
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
        else if contains -- $word (__petstore_commands $path | string replace -r '\t.*' '')
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
            printf '%s\n' $commands
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
