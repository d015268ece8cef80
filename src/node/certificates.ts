/** Certificates are checked even if NODE_TLS_REJECT_UNAUTHORIZED is 0: the key goes to no server that cannot prove its name. */
import { muteWarnings } from './process.ts';

export const CHECKED = { rejectUnauthorized: true } as const;

/** Opens a checked TLS connection, without Node's warning that the variable turns the check off. */
export function openChecked<T>(open: () => T): T {
  if (process.env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return open();
  const restore = muteWarnings('NODE_TLS_REJECT_UNAUTHORIZED');
  try {
    return open();
  } finally {
    restore();
  }
}
