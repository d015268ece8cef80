/** Completion for PowerShell 5.1 and newer. */
import { ANY, FILES, MADE, type Menu, type Named, oneLine, PETS, type ValueRow } from './menu.ts';

const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;

function named(list: readonly Named[]): string {
  return list.map(({ name, summary }) => `${quote(name)} = ${quote(oneLine(summary))}`).join('; ');
}

function table(rows: readonly (readonly [key: string, value: string])[]): string {
  return rows.map(([key, value]) => `        ${quote(key)} = ${value}`).join('\n');
}

function values(rows: readonly ValueRow[]): string {
  return table(
    rows.flatMap(({ keys, value, list, variadic }) =>
      keys.map((key) => [key, `@{ Value = ${quote(value)}; List = $${list}; Variadic = $${variadic} }`] as const),
    ),
  );
}

/** How the words before the cursor are read: the same for every tree. */
const WALK = `    # The command's own, or that of every command.
    function Find-Value($table, $path, $name) {
        foreach ($key in @("\${path}:$name", "*:$name", "\${path}:*")) {
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
            '${ANY}' { @() }
            '${FILES}' { @() }
            '${PETS}' { @(& petstore completion pets 2>$null) }
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
`;

export function powershellScript({ places, globals, optionValues, argumentValues }: Menu): string {
  const lists = (of: 'commands' | 'options'): string =>
    table(places.map((place) => [place.path, `[ordered]@{ ${named(place[of])} }`] as const));
  return `# PowerShell completion for petstore. ${MADE}
# Nothing that was typed is evaluated: words are compared, and that is all.

Register-ArgumentCompleter -Native -CommandName petstore -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commands = @{
${lists('commands')}
    }
    $options = @{
${lists('options')}
    }
    $globals = [ordered]@{ ${named(globals)} }
    $optionValues = @{
${values(optionValues)}
    }
    $argumentValues = @{
${values(argumentValues)}
    }

${WALK}`;
}
