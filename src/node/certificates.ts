/** Certificates are checked even if NODE_TLS_REJECT_UNAUTHORIZED is 0: the key goes to no server that cannot prove its name. */
import { muteWarnings } from './process.ts';

/** Codes of a handshake or a certificate that failed. */
export const CERTIFICATE =
  /^(CERT_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|CRL_|EPROTO$)/;

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
