/** Opens the sandbox's database file; a damaged one of our own is put aside. */
import { beginAnew, type FilePorts, openFile, openOrBeginAnew, type Warned } from '../state/file.ts';
import type { Place } from '../state/form.ts';
import { SANDBOX_FORM, Store } from './store.ts';

export interface SandboxFile {
  /** The database file; its folder is created if it is missing. */
  readonly file: string;
  /** It is in the state folder. */
  readonly isOwn?: boolean;
  /** Who hears that it was damaged, and put aside. Without it a damaged one is refused. */
  readonly notices?: Warned['notices'];
}

/** `failed`: the store, closed, that proved to be damaged. @throws {Failure} `state`, `file` */
export async function openSandboxStore(ports: FilePorts, file: SandboxFile, failed?: Store): Promise<Store> {
  const place = placeOf(file);
  const { notices } = file;
  if (notices === undefined) return new Store(await openFile(ports, SANDBOX_FORM, place));
  const warned = { ...ports, notices };
  return new Store(
    failed === undefined
      ? await openOrBeginAnew(warned, SANDBOX_FORM, place)
      : await beginAnew(warned, SANDBOX_FORM, place, failed),
  );
}

export function placeOf({ file, isOwn = false }: SandboxFile): Place {
  return { path: file, what: 'sandbox', isOwn };
}
