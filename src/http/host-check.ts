/** Who may talk to a server of this machine: a client that reaches it under a name of its own. */

/** Addresses and localhost: an attacker cannot make them his. */
const OWN_NAME = /^([0-9a-f:.]*:[0-9a-f:.]*|[0-9]{1,3}(\.[0-9]{1,3}){3}|(.*\.)?localhost)$/;

/**
 * True when a Host header names this server. A page of another site that has its name resolved to 127.0.0.1 (DNS
 * rebinding) still sends that name.
 */
export function isOurs(host: string | undefined, names: readonly string[]): boolean {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?$/i.exec(host ?? '');
  const name = (match?.[1] ?? match?.[2])?.toLowerCase();
  return name !== undefined && (OWN_NAME.test(name) || names.includes(name));
}

/** True for an address of a socket, or to listen on, that is this machine's own. */
export function isLoopbackAddress(address: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/i.test(address);
}
