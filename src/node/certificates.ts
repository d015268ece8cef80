/** Verifies certificates even if NODE_TLS_REJECT_UNAUTHORIZED is 0: only a server that proves its name gets the key. */
import { muteWarnings } from './process.ts';

/** Error codes of failed handshakes and certificates. */
export const CERTIFICATE =
  /^(CERT_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|CRL_|EPROTO$)/;

export const CHECKED = { rejectUnauthorized: true } as const;

/** Opens a verified TLS connection, without Node's warning that the variable turns verification off. */
export function openChecked<T>(open: () => T): T {
  if (process.env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return open();
  const restore = muteWarnings('NODE_TLS_REJECT_UNAUTHORIZED');
  try {
    return open();
  } finally {
    restore();
  }
}
