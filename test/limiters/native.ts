/** Runs nginx and HAProxy, if they are installed, each as a separate process in a separate folder. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NEVER_MS, startPetstore } from '../support/binary.ts';
import { freePort, isListening } from '../support/free-port.ts';
import { createHome } from '../support/home.ts';
import { type Handler, listen } from '../support/served.ts';
import { relayTo } from './front.ts';

/** Debian keeps servers where only root's PATH looks. */
const PATH = `${process.env.PATH}:/usr/sbin`;

/** Tests that need it are skipped, and named as skipped, without it. */
function isInstalled(program: string): boolean {
  const isThere = spawnSync(program, ['-v'], { stdio: 'ignore', env: { ...process.env, PATH } }).status === 0;
  if (!isThere) process.stderr.write(`${program} is not installed: the tests in front of it are skipped.\n`);
  return isThere;
}

export const hasNginx = isInstalled('nginx');
export const hasHaproxy = isInstalled('haproxy');

export interface NginxConfig {
  /** In `http`: zones and maps. */
  readonly http: string;
  /** In the only location. */
  readonly location: string;
}

/** nginx in front of an app. The key is what is limited: `$http_authorization`. */
export async function nginxBefore(app: Handler, { http, location }: NginxConfig): Promise<Handler> {
  const [port, behind] = [await freePort(), await listen(app)];
  const folder = createHome().path;
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const config = `
    daemon off;
    master_process off;
    pid ${folder}/pid;
    error_log ${folder}/error.log;
    events {}
    http {
      access_log off;
      ${paths.join('\n      ')}
      ${http}
      server {
        listen 127.0.0.1:${port};
        location / {
          ${location}
          proxy_pass http://127.0.0.1:${behind};
        }
      }
    }`;
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, config);
  await start('nginx', ['-p', folder, '-c', file, '-e', join(folder, 'error.log')], port);
  return relayTo(port);
}

/** HAProxy in front of an app. `rules`: of the frontend. */
export async function haproxyBefore(app: Handler, rules: string): Promise<Handler> {
  const [port, behind] = [await freePort(), await listen(app)];
  const file = join(createHome().path, 'haproxy.cfg');
  writeFileSync(
    file,
    `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend limited
  bind 127.0.0.1:${port}
  ${rules.trim().replace(/\n\s*/g, '\n  ')}
  default_backend app
backend app
  server app 127.0.0.1:${behind}
`,
  );
  await start('haproxy', ['-db', '-f', file], port);
  return relayTo(port);
}

/** Resolves once it accepts connections. */
async function start(program: string, args: readonly string[], port: number): Promise<void> {
  const running = startPetstore(args, { command: [program], env: { PATH }, killAfterMs: NEVER_MS });
  const ended = running.exited.then(({ stderr }) => Promise.reject(new Error(`${program} ended: ${stderr}`)));
  ended.catch(() => undefined);
  while (!(await Promise.race([isListening(port), ended]))) continue;
}
