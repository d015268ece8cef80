/** Reads the proxy's certificate and its clients' tokens. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { Failure, usageFailure } from '../errors.ts';
import type { Identity } from '../http/server.ts';
import { isLoopback } from '../ports.ts';
import { followFiles, LONGEST_FILE } from '../serve/serve.ts';
import type { CommandContext } from '../session/globals.ts';
import { readText } from '../session/read-text.ts';
import { shellWord } from '../session/run-commands.ts';
import type { Access } from './access.ts';
import { digestOf, lockTokens, readClients, writeSecret } from './clients.ts';

/** The options that name them. */
interface CredentialOptions {
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tokens?: string;
  readonly tokenFile?: string;
  /** False if no token is needed. */
  readonly token: boolean;
  readonly allowHost?: readonly string[];
  readonly readOnly?: boolean;
}

/** The credentials as last read. */
interface Credentials extends Access {
  identity?: Identity;
  /** How clients authenticate: title, member of the JSON, and value. */
  shown: readonly (readonly [title: string, name: string, value: string])[];
  /** Called with each certificate that is read later. */
  onIdentity?: (identity: Identity) => void;
}

/** Refuses to serve other machines without TLS and named clients. @throws {Failure} `usage` */
export function requireGuard({ tlsCert, tlsKey, tokens }: CredentialOptions, address: string): void {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw usageFailure('--tls-cert and --tls-key belong together.');
  }
  if (isLoopback(address) || (tlsCert !== undefined && tokens !== undefined)) return;
  throw usageFailure(
    `To listen on ${address}, for other machines, the proxy needs --tls-cert, --tls-key and --tokens.`,
  );
}

/** Returns the listening socket that systemd has passed (sd_listen_fds(3)). @throws {Failure} `usage`: several */
export function passedSocket({ env, machine }: CommandContext, options: CredentialOptions) {
  const { LISTEN_PID: pid, LISTEN_FDS: count } = env;
  if (pid !== `${machine.pid}` || count === undefined) return undefined;
  if (count !== '1') throw usageFailure(`systemd has passed ${count} sockets; the proxy takes one.`);
  const check = (address: string): void => {
    requireGuard(options, address);
  };
  return { fd: 3, check };
}

/** Reads the files, and again whenever they change. @throws {Failure} `file`, `file-unusable`, `usage` */
export async function openCredentials(
  context: CommandContext,
  options: CredentialOptions,
  apiKey: string,
): Promise<Credentials> {
  const { allowHost: names = [], tlsCert, tlsKey, token: isAsked, tokens, tokenFile } = options;
  const credentials: Credentials = {
    clients: undefined,
    isReadOnly: options.readOnly === true,
    isNamed: (name) => names.includes(name),
    shown: [],
  };
  if (tokens !== undefined) {
    credentials.shown = [['Tokens', 'tokens', tokens]];
    await followFiles(context, [tokens], ([text = '']) => {
      credentials.clients = readClients(text, tokens);
      if (credentials.clients.length === 0) {
        const how = `petstore proxy token add NAME --tokens ${shellWord(tokens)}`;
        context.notices.warning(`${tokens} has no tokens: every request is refused. Add one: ${how}`);
      }
    });
  } else if (isAsked) {
    const made = Buffer.from(context.randomBytes(32)).toString('base64url');
    const token = tokenFile === undefined ? made : await openToken(context, tokenFile, made);
    credentials.shown = [tokenFile === undefined ? ['Token', 'token', token] : ['Token file', 'tokenFile', tokenFile]];
    credentials.clients = [token, apiKey].map((each) => ({ digest: digestOf(each) }));
  }
  if (tlsCert !== undefined && tlsKey !== undefined) {
    await followFiles(context, [tlsCert, tlsKey], ([cert = '', key = '']) => {
      const own = readCertificate(tlsCert, cert, tlsKey, key);
      // Also by a wildcard.
      credentials.isNamed = (name) => names.includes(name) || own.checkHost(name) !== undefined;
      credentials.identity = { cert, key };
      credentials.onIdentity?.(credentials.identity);
    });
  }
  return credentials;
}

/** Reads a certificate, and checks that the key belongs to it. @throws {Failure} `file-unusable` */
function readCertificate(certFile: string, cert: string, keyFile: string, key: string): X509Certificate {
  const unusable = (path: string, problem: string): Failure => new Failure('file-unusable', { path, problem });
  const read = <T>(path: string, what: string, of: () => T): T => {
    try {
      return of();
    } catch {
      throw unusable(path, `has no ${what} in PEM that petstore can read`);
    }
  };
  const own = read(certFile, 'certificate', () => new X509Certificate(cert));
  const privateKey = read(keyFile, 'private key without a passphrase', () => createPrivateKey(key));
  if (!own.checkPrivateKey(privateKey)) throw unusable(keyFile, `does not belong to the certificate ${certFile}`);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    // The reason is OpenSSL's, such as `ee key too small`.
    throw unusable(certFile, `cannot be used for TLS: ${(error as { reason?: string }).reason}`);
  }
  return own;
}

/** Reads the token that clients send, or creates the file (mode 0600). @throws {Failure} `file`, `usage`, `run-locked` */
async function openToken(context: CommandContext, path: string, made: string): Promise<string> {
  const { files, machine, notices } = context;
  using _lock = await lockTokens(context);
  const facts = await files.facts(path);
  if (facts === undefined) await writeSecret(context, path, `${made}\n`);
  const value = (await readText(context, path, LONGEST_FILE)).trim();
  if (!/^[!-~]{16,}$/.test(value)) {
    const problem = 'does not contain a token: 16 or more characters without spaces, on one line';
    throw new Failure('file-unusable', { path, problem });
  }
  // A link does not have its own mode.
  if (machine.platform !== 'win32' && facts?.kind === 'file' && (facts.mode & 0o077) !== 0) {
    notices.warning(`Others on this machine may read or change the token in ${path}: run chmod 600 ${shellWord(path)}`);
  }
  return value;
}
