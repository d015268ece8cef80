/** The proxy's own token, which clients send in place of the key. */
import { Failure, fileFailure, isFailure } from '../errors.ts';
import type { CommandContext } from '../session/globals.ts';
import { readText } from '../session/read-text.ts';

const LONGEST_FILE = 4_096;

/** Reads the token of a file, or creates the file (mode 0600). @throws {Failure} `file`, `usage` */
export async function openToken(context: CommandContext, path: string, made: string): Promise<string> {
  const { files, machine, notices } = context;
  try {
    const value = (await readText(context, path, LONGEST_FILE)).trim();
    if (!/^[!-~]{16,}$/.test(value)) {
      throw new Failure('usage', {
        problem: `The file ${path} holds no token: 16 or more characters without a space, in one line.`,
        hint: 'Remove the file, and petstore proxy creates one.',
      });
    }
    const facts = await files.facts(path);
    // A link has no mode of its own.
    if (machine.platform !== 'win32' && facts?.kind === 'file' && (facts.mode & 0o077) !== 0) {
      notices.warning(`Others on this machine may read or change the token in ${path}: run chmod 600 ${path}`);
    }
    return value;
  } catch (error) {
    if (!isFailure(error) || !error.is('file') || error.details.code !== 'ENOENT') throw error;
    await files.replace(path, `${made}\n`, { mode: 0o600 }).catch((cause: unknown) => {
      throw fileFailure('write', path, cause);
    });
    return made;
  }
}
