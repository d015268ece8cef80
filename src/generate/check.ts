/** The checks that run nothing of the program, side by side; what each says comes in one piece when it has ended. */
import { spawn } from 'node:child_process';

const CHECKS: readonly string[] = [
  'npm run --silent lint',
  'npm run --silent typecheck',
  'prettier --check --log-level warn .',
  'knip',
  'node src/generate/main.ts --check',
];

function run(command: string): Promise<number> {
  return new Promise((resolve) => {
    // A shell finds what stands in node_modules/.bin, on every system.
    const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const said: Buffer[] = [];
    child.stdout.on('data', (piece: Buffer) => said.push(piece));
    child.stderr.on('data', (piece: Buffer) => said.push(piece));
    child.on('close', (code) => {
      const text = Buffer.concat(said).toString();
      if (code !== 0) console.error(`${command} failed:\n${text}`);
      resolve(code ?? 1);
    });
  });
}

const codes = await Promise.all(CHECKS.map(run));
process.exitCode = Math.max(...codes);
