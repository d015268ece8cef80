/** A Redis server for faults: tests can restart it and send it any command. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { onCleanup } from '../support/cleanup.ts';
import { freePort } from '../support/free-port.ts';
import { createHome } from '../support/home.ts';

/** Keeps nothing over a restart. */
const EMPTY = ['--save', '', '--appendonly', 'no'];

export class RedisServer {
  readonly port: number;
  readonly #args: readonly string[];
  readonly #folder = createHome().path;
  #child: ChildProcess | undefined;

  private constructor(port: number, args: readonly string[]) {
    this.port = port;
    this.#args = args;
    onCleanup(() => this.kill('SIGKILL'));
  }

  static async start(args: readonly string[] = EMPTY): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), args);
    await server.start();
    return server;
  }

  /** A replica of this one, up to date. */
  async replica(): Promise<RedisServer> {
    const replica = await RedisServer.start([...EMPTY, '--replicaof', `127.0.0.1 ${this.port}`]);
    while (!(await replica.ask('INFO replication')).includes('master_link_status:up')) await turn();
    return replica;
  }

  /** A Sentinel that watches this one, and its replicas, as `mymaster`; a second without an answer, and it is down. */
  async sentinel(): Promise<RedisServer> {
    const file = `${createHome().path}/sentinel.conf`;
    const settings = { 'down-after-milliseconds': 1_000, 'failover-timeout': 5_000 };
    const lines = Object.entries(settings).map(([name, value]) => `sentinel ${name} mymaster ${value}\n`);
    writeFileSync(file, `sentinel monitor mymaster 127.0.0.1 ${this.port} 1\n${lines.join('')}`);
    const sentinel = await RedisServer.start([file, '--sentinel']);
    while (!(await sentinel.ask('SENTINEL replicas mymaster')).includes('slave-repl-offset')) await turn();
    return sentinel;
  }

  /** Again with the same port and files, if it was killed. */
  async start(): Promise<void> {
    const place = ['--bind', '127.0.0.1', '--port', `${this.port}`, '--dir', this.#folder];
    const isFile = this.#args[0]?.startsWith('/') === true;
    const args = isFile ? [this.#args[0]!, ...place, ...this.#args.slice(1)] : [...place, ...this.#args];
    const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child = child;
    let output = '';
    for await (const piece of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
      output += String(piece);
      if (/Ready to accept connections|\+monitor master/.test(output)) {
        child.stdout.resume();
        return;
      }
    }
    throw new Error(`redis-server ended: ${output}`);
  }

  async kill(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    if (signal === 'SIGKILL') await ended;
  }

  /** Sends a command on a connection of its own. Resolves to the answer as it is on the wire. @throws on an error */
  async ask(command: string): Promise<string> {
    const socket = connect(this.port, '127.0.0.1');
    socket.end(`${command}\r\n`);
    const answer = await text(socket);
    if (answer.startsWith('-')) throw new Error(`${command}: ${answer}`);
    return answer;
  }
}

/** A look at a server that is still starting is not worth more than one in 20 ms. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
