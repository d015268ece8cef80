/** This process, as little of it as the shortest commands need. */

export const argv: readonly string[] = process.argv.slice(2);

/** Of the terminal that stdout is, in columns; 80 elsewhere. */
export function width(): number {
  return process.stdout.isTTY ? Math.max(process.stdout.columns, 20) : 80;
}

/** Prints and lets the process end. A reader that is gone is no failure, a full disk is one (exit 3). */
export function printAndEnd(text: string): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    process.exitCode = code === 'EPIPE' ? 0 : 3;
  });
  process.stdout.write(text);
}

/** Ends the process; what was written has been handed to the system by then. */
export function exit(code: number): never {
  process.exit(code);
}
