/** The script of each shell, and the file that its users expect it in. */
import type { Tree } from '../help/tree.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { type Menu, menuOf } from './menu.ts';
import { powershellScript } from './powershell.ts';
import { zshScript } from './zsh.ts';

export type Shell = 'bash' | 'zsh' | 'fish' | 'powershell';

export const SHELLS: Readonly<Record<Shell, { readonly file: string; script(menu: Menu): string }>> = {
  bash: { file: 'petstore.bash', script: bashScript },
  zsh: { file: '_petstore', script: zshScript },
  fish: { file: 'petstore.fish', script: fishScript },
  powershell: { file: 'petstore.ps1', script: powershellScript },
};

export function completionScript(shell: Shell, tree: Tree): string {
  return SHELLS[shell].script(menuOf(tree));
}
