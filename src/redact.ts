/** Secrets by their exact value: whatever is written passes through here last. */
import type { Output } from './context.ts';

/** Shorter texts would blot out innocent digits and words; no real key is that short. */
const SHORTEST = 6;
const MARK = '[redacted]';

/** The key of the built-in sandbox: everybody knows it, and it is a word that messages need. */
const NO_SECRET = 'sandbox';

export class Secrets {
  private readonly values = new Set<string>();

  add(secret: string): void {
    if (secret.length < SHORTEST || secret === NO_SECRET) return;
    this.values.add(secret);
    // As it stands inside JSON, and inside a URL.
    this.values.add(JSON.stringify(secret).slice(1, -1));
    this.values.add(encodeURIComponent(secret));
  }

  redact(text: string): string {
    let result = text;
    for (const value of this.values) result = result.replaceAll(value, MARK);
    return result;
  }
}

export function redacting(output: Output, secrets: Secrets): Output {
  return {
    isTTY: output.isTTY,
    get columns() {
      return output.columns;
    },
    write: (text) => output.write(secrets.redact(text)),
  };
}

/** Passwords that the environment holds for other purposes, and that an error text might repeat. */
export function addFromEnvironment(secrets: Secrets, env: Readonly<Record<string, string | undefined>>): void {
  if (env.PETSTORE_API_KEY !== undefined) secrets.add(env.PETSTORE_API_KEY);
  for (const name of [
    'HTTPS_PROXY',
    'https_proxy',
    'HTTP_PROXY',
    'http_proxy',
    'ALL_PROXY',
    'all_proxy',
    'PETSTORE_LEDGER',
  ]) {
    const password = /\/\/[^/@]*?:([^/@]*)@/.exec(env[name] ?? '')?.[1];
    if (password !== undefined) secrets.add(password);
  }
}
