# PowerShell completion for petstore, for PowerShell 5.1 and newer.
Register-ArgumentCompleter -Native -CommandName petstore -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.Extent.Text })
    $word = [string]$wordToComplete
    # Versions before 7.3 leave out an argument that is empty.
    if (-not $word -and $PSVersionTable.PSVersion -lt [version]'7.3') { $word = '""' }
    foreach ($line in @(& petstore __complete @words $word 2>$null)) {
        if ($line.StartsWith(':')) { continue }
        $name, $tip = $line -split "`t", 2
        if (-not $tip) { $tip = $name }
        [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $tip)
    }
}
