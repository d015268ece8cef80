/** Starts an authoritative DNS server for a test: BIND, if `named` is installed. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

/** Without it, tests that need it are skipped and reported as skipped. */
export const hasNamed = spawnSync('named', ['-V'], { stdio: 'ignore', env: withSbin() }).status === 0;
if (!hasNamed) process.stderr.write('named (BIND 9) is not installed: the tests of doctor --domain are skipped.\n');

/** Lines of a zone file by the zone's name. A zone without lines exists but cannot be loaded. */
export type Zones = Readonly<Record<string, readonly string[] | undefined>>;

export interface NamedServer {
  /** Includes the port. */
  readonly address: string;
  close(): Promise<void>;
}

/** Serves a whole test file: the caller closes it. */
export async function startNamed(zones: Zones): Promise<NamedServer> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-named-'));
  chmodSync(folder, 0o777);
  const port = await freePort();
  const clauses = Object.entries(zones).map(([name, records], i) => {
    writeFileSync(join(folder, `${i}.zone`), records === undefined ? 'not a zone\n' : zoneFile(name, records));
    return `zone "${name}" { type primary; file "${i}.zone"; };`;
  });
  const settings = [
    `directory "${folder}";`,
    `listen-on port ${port} { 127.0.0.1; };`,
    'listen-on-v6 { none; }; recursion no; pid-file none; session-keyfile none; dnssec-validation no;',
    'notify no; allow-transfer { none; };',
  ];
  const file = join(folder, 'named.conf');
  writeFileSync(file, `options { ${settings.join(' ')} };\ncontrols { };\n${clauses.join('\n')}\n`);
  const child = spawn('named', ['-g', '-c', file], { stdio: ['ignore', 'ignore', 'pipe'], env: withSbin() });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await running(child);
  return {
    address: `127.0.0.1:${port}`,
    async close() {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function zoneFile(name: string, records: readonly string[]): string {
  const head = ['$TTL 60', `@ SOA ns1.${name}. admin.${name}. 1 60 60 60 60`, `@ NS ns1.${name}.`, 'ns1 A 127.0.0.1'];
  return `${[...head, ...records].join('\n')}\n`;
}

/** Adds the folders for administrators' programs, such as `named`, to PATH. */
function withSbin(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin:/usr/local/sbin` };
}

function running(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stderr?.on('data', (piece: Buffer) => {
      output += piece.toString();
      if (/\brunning$/m.test(output)) resolve();
    });
    child.once('exit', () => reject(new Error(`named ended: ${output}`)));
  });
}
