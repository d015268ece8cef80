# PowerShell completion for petstore. Made from the commands by "npm run generate".
# Nothing that was typed is evaluated: words are compared, and that is all.

Register-ArgumentCompleter -Native -CommandName petstore -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commands = @{
        '' = [ordered]@{ 'inventory' = 'Stock levels of the pets'; 'limits' = 'Show what is left of the key''s allowance, without a request'; 'smoke' = 'Check that the service answers and keeps its contract, for CI'; 'wait' = 'Wait until a pet has a quantity or a status'; 'doctor' = 'Look for what is wrong with this machine, the way to the service, or a custom domain'; 'api' = 'Call any path of the service: same key, same limits, same safety'; 'login' = 'Keep the base URL and API key of an environment'; 'logout' = 'Drop the API key of an environment'; 'status' = 'Show the environment, base URL and key in force'; 'config' = 'Settings in the config file'; 'sandbox' = 'The service itself, on this machine'; 'completion' = 'Print the completion script of a shell, or install it'; 'help' = 'Show help on a command or a topic' }
        'inventory' = [ordered]@{ 'list' = 'Show stock levels'; 'set' = 'Set the stock of one pet'; 'adjust' = 'Add to the stock of one pet, or take away from it'; 'import' = 'Set the stock of many pets from a file'; 'count' = 'Take stock with a barcode scanner: scan, see the differences, set them'; 'edit' = 'Change stock in your editor'; 'history' = 'Show what this machine changed: when, who, from what to what'; 'undo' = 'Put back what this machine changed, if nobody else has touched it since' }
        'config' = [ordered]@{ 'list' = 'Show every setting in the config file'; 'get' = 'Show one setting'; 'set' = 'Change one setting'; 'unset' = 'Remove one setting'; 'path' = 'Show where the config file is' }
        'sandbox' = [ordered]@{ 'serve' = 'Serve the sandbox over HTTP, for curl, tests and other clients'; 'status' = 'Show what the sandbox holds, without a request'; 'keys' = 'List the sandbox''s keys and what they have used; add, remove, unban one'; 'seed' = 'Put other pets into the sandbox, in place of all that are there'; 'reset' = 'Make the sandbox as new: its 25 pets, no limits used, no bans, no keys of your own' }
        'inventory list' = [ordered]@{  }
        'inventory set' = [ordered]@{  }
        'inventory adjust' = [ordered]@{  }
        'inventory import' = [ordered]@{  }
        'inventory count' = [ordered]@{  }
        'inventory edit' = [ordered]@{  }
        'inventory history' = [ordered]@{  }
        'inventory undo' = [ordered]@{  }
        'limits' = [ordered]@{  }
        'smoke' = [ordered]@{  }
        'wait' = [ordered]@{  }
        'doctor' = [ordered]@{  }
        'api' = [ordered]@{  }
        'login' = [ordered]@{  }
        'logout' = [ordered]@{  }
        'status' = [ordered]@{  }
        'config list' = [ordered]@{  }
        'config get' = [ordered]@{  }
        'config set' = [ordered]@{  }
        'config unset' = [ordered]@{  }
        'config path' = [ordered]@{  }
        'sandbox serve' = [ordered]@{  }
        'sandbox status' = [ordered]@{  }
        'sandbox keys' = [ordered]@{  }
        'sandbox seed' = [ordered]@{  }
        'sandbox reset' = [ordered]@{  }
        'completion' = [ordered]@{  }
        'help' = [ordered]@{  }
    }
    $options = @{
        '' = [ordered]@{  }
        'inventory' = [ordered]@{  }
        'config' = [ordered]@{  }
        'sandbox' = [ordered]@{  }
        'inventory list' = [ordered]@{ '--status' = 'only pets of this status: available, pending, sold'; '--pet' = 'only these pets'; '--min' = 'only a quantity of at least this'; '--max' = 'only a quantity of at most this'; '--sort' = 'sort by petId, quantity, status (default: the service''s order)'; '--desc' = 'with --sort: the largest first'; '--columns' = 'which fields to show, in this order, e.g. petId,quantity'; '--no-header' = 'leave out the header line (table, csv)'; '--watch' = 'go on looking, and print what changes (default: every 10s, less often if the allowance is short)'; '--fail-if-any' = 'exit 13 if any pet is listed'; '--fail-if-none' = 'exit 13 if no pet is listed' }
        'inventory set' = [ordered]@{ '--dry-run' = 'show the request and send nothing'; '--expect' = 'read first, and refuse (exit 13) if the quantity is another; a change by another machine in between is not seen'; '--allow-negative' = 'allow a quantity below zero' }
        'inventory adjust' = [ordered]@{ '--expect' = 'refuse (exit 13) if the present quantity is another'; '--allow-negative' = 'allow a result below zero; without it, exit 13' }
        'inventory import' = [ordered]@{ '--dry-run' = 'show what would change and send nothing'; '--exit-code' = 'with --dry-run: exit 13 if anything would change, or a row cannot be applied'; '--allow-negative' = 'allow quantities below zero'; '--events' = 'print one JSON object for each row as it is done, and one at the end'; '--journal' = 'keep the journal there in place of the state folder'; '--resume' = 'go on with a run that was stopped; the newest, unless its number is given'; '--status' = 'list the runs that were stopped' }
        'inventory count' = [ordered]@{ '--prefix' = 'what stands before each id on the labels'; '--resume' = 'go on scanning; the newest stocktake, unless its number is given' }
        'inventory edit' = [ordered]@{ '--status' = 'only pets of this status: available, pending, sold'; '--pet' = 'only these pets'; '--min' = 'only a quantity of at least this'; '--max' = 'only a quantity of at most this'; '--allow-negative' = 'allow quantities below zero' }
        'inventory history' = [ordered]@{ '--pet' = 'only these pets'; '--import' = 'only this run'; '--limit' = 'how many (default: 50)'; '--journal' = 'of a journal elsewhere' }
        'inventory undo' = [ordered]@{ '--last' = 'the last change'; '--import' = 'all changes of a run' }
        'limits' = [ordered]@{ '--refresh' = 'ask the service first, with one request'; '--clear-block' = 'forget a block; asks for the word, or --yes' }
        'smoke' = [ordered]@{ '--format' = 'text, junit, tap, json, github (default: text; json with --json)'; '--out' = 'a report as well: JUnit for .xml, TAP for .tap, JSON for .json; or format=file; may be repeated'; '--only' = 'only these checks'; '--skip' = 'all but these checks'; '--write' = 'check the update too, with --pet'; '--pet' = 'the pet to set and to put back'; '--provoke-429' = 'at the end spend the allowance and one request more; staging and sandbox only'; '--list' = 'show the checks, and run none'; '--max-latency' = 'longest time for the list'; '--max-skew' = 'how far the service''s clock may be off (default: 60s)'; '--wait-ready' = 'wait until the service answers at all' }
        'wait' = [ordered]@{ '--pet' = 'the pet'; '--quantity' = 'exactly this quantity'; '--min' = 'at least this quantity'; '--max' = 'at most this quantity'; '--status' = 'available, pending, sold'; '--for' = 'how long at most (default: --timeout where it is given, else 5m)'; '--interval' = 'at least so long between two looks (default: 5s)' }
        'doctor' = [ordered]@{ '--offline' = 'look at this machine alone'; '--domain' = 'look at this custom domain'; '--target' = 'what the platform says the domain must point to'; '--ca' = 'the platform''s authority, as CAA records name it: letsencrypt.org'; '--redirect' = 'an entry to check as well: from=HOST,to=HOST,status=301; may be repeated'; '--dns-server' = 'the server to ask, ADDRESS[:PORT]; the zone''s own knows of a change first'; '--connect' = 'where to look at the certificate, in place of the domain''s own address' }
        'api' = [ordered]@{ '-f' = 'a member of the JSON body; numbers, true, false and null as such; may be repeated'; '--field' = 'a member of the JSON body; numbers, true, false and null as such; may be repeated'; '--input' = 'the body; - for stdin'; '-i' = 'print status and headers before the body'; '--include' = 'print status and headers before the body' }
        'login' = [ordered]@{ '--key-stdin' = 'read the key from stdin, one line'; '--no-verify' = 'keep the key without trying it' }
        'logout' = [ordered]@{ '--all' = 'the keys of all environments' }
        'status' = [ordered]@{  }
        'config list' = [ordered]@{  }
        'config get' = [ordered]@{  }
        'config set' = [ordered]@{  }
        'config unset' = [ordered]@{  }
        'config path' = [ordered]@{  }
        'sandbox serve' = [ordered]@{ '--port' = '0 takes a free one (default: 4010)'; '--host' = 'address to listen on; beyond this machine only with --key (default: 127.0.0.1)'; '--allow-host' = 'further names that clients use for it'; '--plan' = 'limits: free, pro, business, custom (default: free)'; '--per-minute' = 'limit of a minute, for any plan'; '--per-day' = 'limit of a day, for any plan'; '--minute' = 'a shorter minute, for those who cannot wait (default: 60s)'; '--data' = 'where the stock is kept (default: that of --env sandbox)'; '--seed' = 'begin with the pets of a file, or with so many made-up ones'; '--key' = 'valid keys in place of the usual one; made up, never a real one'; '--ban-after' = 'early requests after a 429 that get a key banned; 0: never (default: 10)'; '--ban-for' = 'how long a ban lasts (default: 15m)'; '--ban-status' = 'what a banned key is answered (default: 403)'; '--quantity' = 'quantities that are accepted (default: 0..2147483647)'; '--clock-skew' = 'how far the sandbox''s clock is off, for instance -1h (default: 0s)'; '--retry-after-format' = 'seconds, date (default: seconds)'; '--with-undocumented' = '501 for what the specification only names: /pets/{petId}, /store/orders'; '--fault' = 'something that goes wrong, as below; may be repeated'; '--fault-seed' = 'the same seed, the same faults (default: 1)'; '--log' = 'add one JSON object for each request to a file, in place of lines on stderr' }
        'sandbox status' = [ordered]@{ '--data' = 'the sandbox''s file (default: that of --env sandbox)' }
        'sandbox keys' = [ordered]@{ '--add' = 'a further key'; '--remove' = 'a key that was added'; '--unban' = 'forget what a key has used, and its ban'; '--data' = 'the sandbox''s file (default: that of --env sandbox)' }
        'sandbox seed' = [ordered]@{ '--pets' = 'so many made-up pets'; '--file' = 'those of a file'; '--data' = 'the sandbox''s file (default: that of --env sandbox)' }
        'sandbox reset' = [ordered]@{ '--data' = 'the sandbox''s file (default: that of --env sandbox)' }
        'completion' = [ordered]@{ '--install' = 'write it to the user''s own folder, and say what is left to do' }
        'help' = [ordered]@{  }
    }
    $globals = [ordered]@{ '-e' = 'environment: production, staging, sandbox'; '--env' = 'environment: production, staging, sandbox'; '--base-url' = 'address of the service, ending in /v1'; '--insecure-http' = 'allow http beyond this machine; the key is readable on the way'; '-o' = 'table, json, ndjson, csv (default: table)'; '--output' = 'table, json, ndjson, csv (default: table)'; '--json' = 'short for --output json'; '--color' = 'auto, always, never (default: auto)'; '--no-input' = 'never ask; fail instead'; '-y' = 'say yes to every question'; '--yes' = 'say yes to every question'; '-q' = 'no notes, no rate limits: data, warnings and errors only'; '--quiet' = 'no notes, no rate limits: data, warnings and errors only'; '-v' = 'one line on stderr for each request'; '--verbose' = 'one line on stderr for each request'; '--debug' = 'as --verbose, and what went wrong inside'; '--show-limits' = 'print the rate limit also where stderr is no terminal'; '--timeout' = 'longest time one attempt waits for the service (default: 60s)'; '--max-wait' = 'longest wait for a rate limit or a retry, or "forever"; beyond it, exit 6 (default: 75s)'; '--wait' = 'short for --max-wait forever'; '--no-wait' = 'short for --max-wait 0'; '--reserve' = 'requests of the key''s allowance to leave for others'; '--deadline' = 'longest time for the whole command (default: none)'; '--max-body' = 'largest response accepted, decoded (default: 256MiB)'; '-h' = 'show help'; '--help' = 'show help'; '-V' = 'print the version'; '--version' = 'print the version' }
    $optionValues = @{
        'inventory list:--status' = @{ Value = 'available pending sold'; List = $true; Variadic = $true }
        'inventory list:--pet' = @{ Value = '@pets'; List = $true; Variadic = $true }
        'inventory list:--min' = @{ Value = '@any'; List = $false; Variadic = $false }
        'inventory list:--max' = @{ Value = '@any'; List = $false; Variadic = $false }
        'inventory list:--sort' = @{ Value = 'petId quantity status'; List = $false; Variadic = $false }
        'inventory list:--columns' = @{ Value = 'petId quantity status'; List = $true; Variadic = $false }
        'inventory set:--expect' = @{ Value = '@any'; List = $false; Variadic = $false }
        'inventory adjust:--expect' = @{ Value = '@any'; List = $false; Variadic = $false }
        'inventory import:--journal' = @{ Value = '@files'; List = $false; Variadic = $false }
        'inventory count:--prefix' = @{ Value = '@any'; List = $false; Variadic = $false }
        'inventory edit:--status' = @{ Value = 'available pending sold'; List = $true; Variadic = $true }
        'inventory edit:--pet' = @{ Value = '@pets'; List = $true; Variadic = $true }
        'inventory edit:--min' = @{ Value = '@any'; List = $false; Variadic = $false }
        'inventory edit:--max' = @{ Value = '@any'; List = $false; Variadic = $false }
        'inventory history:--pet' = @{ Value = '@pets'; List = $true; Variadic = $true }
        'inventory history:--import' = @{ Value = '@any'; List = $false; Variadic = $false }
        'inventory history:--limit' = @{ Value = '@any'; List = $false; Variadic = $false }
        'inventory history:--journal' = @{ Value = '@files'; List = $false; Variadic = $false }
        'inventory undo:--import' = @{ Value = '@any'; List = $false; Variadic = $false }
        'smoke:--format' = @{ Value = 'text junit tap json github'; List = $false; Variadic = $false }
        'smoke:--out' = @{ Value = '@files'; List = $false; Variadic = $false }
        'smoke:--only' = @{ Value = 'reachable tls list-status list-type list-rows list-ids limit-headers limit-values limit-reset clock latency keyless-status wrong-status error-body error-status unknown-status write-same write-set write-restore write-unknown write-bad-json write-no-quantity write-text write-fraction limit-429 limit-retry'; List = $true; Variadic = $false }
        'smoke:--skip' = @{ Value = 'reachable tls list-status list-type list-rows list-ids limit-headers limit-values limit-reset clock latency keyless-status wrong-status error-body error-status unknown-status write-same write-set write-restore write-unknown write-bad-json write-no-quantity write-text write-fraction limit-429 limit-retry'; List = $true; Variadic = $false }
        'smoke:--pet' = @{ Value = '@pets'; List = $false; Variadic = $false }
        'smoke:--max-latency' = @{ Value = '@any'; List = $false; Variadic = $false }
        'smoke:--max-skew' = @{ Value = '@any'; List = $false; Variadic = $false }
        'smoke:--wait-ready' = @{ Value = '@any'; List = $false; Variadic = $false }
        'wait:--pet' = @{ Value = '@pets'; List = $false; Variadic = $false }
        'wait:--quantity' = @{ Value = '@any'; List = $false; Variadic = $false }
        'wait:--min' = @{ Value = '@any'; List = $false; Variadic = $false }
        'wait:--max' = @{ Value = '@any'; List = $false; Variadic = $false }
        'wait:--status' = @{ Value = 'available pending sold'; List = $false; Variadic = $false }
        'wait:--for' = @{ Value = '@any'; List = $false; Variadic = $false }
        'wait:--interval' = @{ Value = '@any'; List = $false; Variadic = $false }
        'doctor:--domain' = @{ Value = '@any'; List = $false; Variadic = $false }
        'doctor:--target' = @{ Value = '@any'; List = $false; Variadic = $false }
        'doctor:--ca' = @{ Value = '@any'; List = $false; Variadic = $false }
        'doctor:--redirect' = @{ Value = '@any'; List = $false; Variadic = $false }
        'doctor:--dns-server' = @{ Value = '@any'; List = $false; Variadic = $false }
        'doctor:--connect' = @{ Value = '@any'; List = $false; Variadic = $false }
        'api:-f' = @{ Value = '@any'; List = $false; Variadic = $false }
        'api:--field' = @{ Value = '@any'; List = $false; Variadic = $false }
        'api:--input' = @{ Value = '@files'; List = $false; Variadic = $false }
        'sandbox serve:--port' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox serve:--host' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox serve:--allow-host' = @{ Value = '@any'; List = $false; Variadic = $true }
        'sandbox serve:--plan' = @{ Value = 'free pro business custom'; List = $false; Variadic = $false }
        'sandbox serve:--per-minute' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox serve:--per-day' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox serve:--minute' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox serve:--data' = @{ Value = '@files'; List = $false; Variadic = $false }
        'sandbox serve:--seed' = @{ Value = '@files'; List = $false; Variadic = $false }
        'sandbox serve:--key' = @{ Value = '@any'; List = $false; Variadic = $true }
        'sandbox serve:--ban-after' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox serve:--ban-for' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox serve:--ban-status' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox serve:--quantity' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox serve:--clock-skew' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox serve:--retry-after-format' = @{ Value = 'seconds date'; List = $false; Variadic = $false }
        'sandbox serve:--fault' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox serve:--fault-seed' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox serve:--log' = @{ Value = '@files'; List = $false; Variadic = $false }
        'sandbox status:--data' = @{ Value = '@files'; List = $false; Variadic = $false }
        'sandbox keys:--add' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox keys:--remove' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox keys:--unban' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox keys:--data' = @{ Value = '@files'; List = $false; Variadic = $false }
        'sandbox seed:--pets' = @{ Value = '@any'; List = $false; Variadic = $false }
        'sandbox seed:--file' = @{ Value = '@files'; List = $false; Variadic = $false }
        'sandbox seed:--data' = @{ Value = '@files'; List = $false; Variadic = $false }
        'sandbox reset:--data' = @{ Value = '@files'; List = $false; Variadic = $false }
        '*:-e' = @{ Value = 'production staging sandbox'; List = $false; Variadic = $false }
        '*:--env' = @{ Value = 'production staging sandbox'; List = $false; Variadic = $false }
        '*:--base-url' = @{ Value = '@any'; List = $false; Variadic = $false }
        '*:-o' = @{ Value = 'table json ndjson csv'; List = $false; Variadic = $false }
        '*:--output' = @{ Value = 'table json ndjson csv'; List = $false; Variadic = $false }
        '*:--color' = @{ Value = 'auto always never'; List = $false; Variadic = $false }
        '*:--timeout' = @{ Value = '@any'; List = $false; Variadic = $false }
        '*:--max-wait' = @{ Value = 'forever'; List = $false; Variadic = $false }
        '*:--reserve' = @{ Value = '@any'; List = $false; Variadic = $false }
        '*:--deadline' = @{ Value = '@any'; List = $false; Variadic = $false }
        '*:--max-body' = @{ Value = '@any'; List = $false; Variadic = $false }
    }
    $argumentValues = @{
        'inventory set:0' = @{ Value = '@pets'; List = $false; Variadic = $false }
        'inventory set:1' = @{ Value = '@any'; List = $false; Variadic = $false }
        'inventory adjust:0' = @{ Value = '@pets'; List = $false; Variadic = $false }
        'inventory adjust:1' = @{ Value = '@any'; List = $false; Variadic = $false }
        'inventory import:0' = @{ Value = '@files'; List = $false; Variadic = $false }
        'inventory undo:0' = @{ Value = '@any'; List = $false; Variadic = $false }
        'api:0' = @{ Value = 'GET PATCH POST PUT DELETE HEAD OPTIONS'; List = $false; Variadic = $false }
        'api:1' = @{ Value = '@any'; List = $false; Variadic = $false }
        'config get:0' = @{ Value = 'environment production.base-url production.api-key staging.base-url staging.api-key'; List = $false; Variadic = $false }
        'config set:0' = @{ Value = 'environment production.base-url production.api-key staging.base-url staging.api-key'; List = $false; Variadic = $false }
        'config set:1' = @{ Value = '@any'; List = $false; Variadic = $false }
        'config unset:0' = @{ Value = 'environment production.base-url production.api-key staging.base-url staging.api-key'; List = $false; Variadic = $false }
        'completion:0' = @{ Value = 'bash zsh fish powershell pets'; List = $false; Variadic = $false }
        'help:*' = @{ Value = 'environments output rate-limits scripting exit-codes inventory limits smoke wait doctor api login logout status config sandbox completion help'; List = $false; Variadic = $true }
    }

    # The command's own, or that of every command.
    function Find-Value($table, $path, $name) {
        foreach ($key in @("${path}:$name", "*:$name", "${path}:*")) {
            if ($table.ContainsKey($key)) { return $table[$key] }
        }
    }

    function Write-Proposal($before, $begun, $names) {
        foreach ($name in $names.Keys) {
            if (-not $name.StartsWith($begun, [StringComparison]::Ordinal)) { continue }
            $tip = if ($names[$name]) { $names[$name] } else { $name }
            [System.Management.Automation.CompletionResult]::new("$before$name", $name, 'ParameterValue', $tip)
        }
    }

    function Write-Value($before, $begun, $known) {
        if ($known.List -and $begun.Contains(',')) {
            $end = $begun.LastIndexOf(',') + 1
            $before = $before + $begun.Substring(0, $end)
            $begun = $begun.Substring($end)
        }
        $words = switch ($known.Value) {
            '@any' { @() }
            '@files' { @() }
            '@pets' { @(& petstore completion pets 2>$null) }
            default { $known.Value.Split(' ') }
        }
        $names = [ordered]@{}
        foreach ($word in $words) { $names[$word] = '' }
        Write-Proposal $before $begun $names
    }

    $path = ''
    $position = 0
    $expects = ''
    $more = ''
    $over = $false
    foreach ($element in @($commandAst.CommandElements | Select-Object -Skip 1)) {
        if ($element.Extent.EndOffset -ge $cursorPosition) { break }
        $word = $element.Extent.Text
        if ($expects) { $expects = ''; continue }
        if ($more -and -not $word.StartsWith('-')) { continue }
        $more = ''
        if ($over) { $position++ }
        elseif ($word -ceq '--') { $over = $true }
        elseif ($word.StartsWith('--') -and $word.Contains('=')) { continue }
        elseif ($word.StartsWith('-')) {
            $known = Find-Value $optionValues $path $word
            if ($known) {
                $expects = $word
                if ($known.Variadic) { $more = $word }
            }
        }
        elseif ($commands[$path].Contains($word)) { $path = "$path $word".Trim() }
        else { $position++ }
    }

    $word = [string]$wordToComplete
    if ($expects -or ($more -and -not $word.StartsWith('-'))) {
        $option = if ($expects) { $expects } else { $more }
        Write-Value '' $word (Find-Value $optionValues $path $option)
    }
    elseif (-not $over -and $word.StartsWith('--') -and $word.Contains('=')) {
        $at = $word.IndexOf('=')
        $known = Find-Value $optionValues $path $word.Substring(0, $at)
        if ($known) { Write-Value $word.Substring(0, $at + 1) $word.Substring($at + 1) $known }
    }
    elseif (-not $over -and $word.StartsWith('-')) {
        Write-Proposal '' $word $options[$path]
        Write-Proposal '' $word $globals
    }
    elseif ($commands[$path].Count -gt 0) { Write-Proposal '' $word $commands[$path] }
    else {
        $known = Find-Value $argumentValues $path $position
        if ($known) { Write-Value '' $word $known }
        # With nothing to name, the command's own options are what could come.
        elseif (-not $word -and -not $over) { Write-Proposal '' $word $options[$path] }
    }
}
