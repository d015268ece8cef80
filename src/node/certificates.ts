/** Certificates are checked even if NODE_TLS_REJECT_UNAUTHORIZED is 0: the key goes to no server that cannot prove its name. */

export const CHECKED = { rejectUnauthorized: true } as const;

/** Opens a checked TLS connection, without Node's warning that the variable turns the check off. */
export function openChecked<T>(open: () => T): T {
  if (process.env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return open();
  const emit = process.emitWarning;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).includes('NODE_TLS_REJECT_UNAUTHORIZED')) return;
    (emit as (...all: unknown[]) => void).call(process, warning, ...rest);
  };
  try {
    return open();
  } finally {
    process.emitWarning = emit;
  }
}
