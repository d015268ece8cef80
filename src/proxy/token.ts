/** The proxy's own token, which clients send in place of the key. */
import { Failure, fileFailure } from '../errors.ts';
import { errorCode } from '../ports.ts';
import type { CommandContext } from '../session/globals.ts';

export interface Token {
  readonly value: string;
  /** Where it is kept; absent: it is new for each run. */
  readonly path?: string;
}

/** Reads the token of a file, or creates the file (mode 0600); without one, makes a token. @throws {Failure} `file` */
export async function openToken({ files, randomBytes }: CommandContext, path: string | undefined): Promise<Token> {
  const made = Buffer.from(randomBytes(32)).toString('base64url');
  if (path === undefined) return { value: made };
  try {
    const value = (await files.read(path)).trim();
    if (/^[!-~]{16,}$/.test(value)) return { value, path };
  } catch (cause) {
    if (errorCode(cause) !== 'ENOENT') throw fileFailure('read', path, cause);
    try {
      await files.replace(path, `${made}\n`, { mode: 0o600 });
    } catch (problem) {
      throw fileFailure('write', path, problem);
    }
    return { value: made, path };
  }
  throw new Failure('usage', {
    problem: `The file ${path} holds no token: 16 or more characters without a space, in one line.`,
    hint: 'Remove the file, and petstore proxy creates one.',
  });
}
