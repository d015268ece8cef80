/** The completion script of each shell. It asks `petstore __complete` and shows the words, and evaluates none of them. */
import zsh from '../../../completions/_petstore';
import bash from '../../../completions/petstore.bash';
import fish from '../../../completions/petstore.fish';
import powershell from '../../../completions/petstore.ps1';

export const SHIMS = { bash, zsh, fish, powershell };
