/** The completion script of each shell. It asks `petstore __complete` and shows the words, and evaluates none of them. */
import zsh from '../../../completions/_petstore?text';
import bash from '../../../completions/petstore.bash?text';
import fish from '../../../completions/petstore.fish?text';
import powershell from '../../../completions/petstore.ps1?text';

export const SHIMS = { bash, zsh, fish, powershell };
