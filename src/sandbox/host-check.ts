/** Who may talk to the sandbox: whoever finds it under a name that is its own. */
/**
 * Whether a Host header names this server. A page of another site that has its name resolved to 127.0.0.1 (DNS
 * rebinding) still sends that name; an address, or localhost, no attacker can make his.
 */
export function isOurs(host: string | undefined, names: readonly string[]): boolean {
  const name = hostName(host ?? '');
  if (name === undefined) return false;
  return isAddress(name) || name === 'localhost' || name.endsWith('.localhost') || names.includes(name);
}

/** Without port and brackets, in lower case; undefined where it is no host. */
function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?$/i.exec(host);
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}

/** A colon is in no name. */
function isAddress(name: string): boolean {
  return name.includes(':') || /^[0-9]{1,3}(\.[0-9]{1,3}){3}$/.test(name);
}

/** Whether an address of a socket, or to listen on, is this machine's own. */
export function isLoopback(address: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/i.test(address);
}
