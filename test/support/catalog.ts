/** Catalogs for tests: one in memory, filled as a file would fill it, or none for the sandbox. */
import { Catalog } from '../../src/catalog/local-catalog.ts';
import { type CatalogRow, type Problem, storeRows } from '../../src/catalog/store.ts';
import { openDatabase } from '../../src/node/sqlite.ts';
import { openStateFile } from '../../src/state/database.ts';
import { STATE_DATABASE } from '../../src/state/schema.ts';
import { parseCatalog } from '../../src/stock/file-rows.ts';
import type { TestContext } from './test-context.ts';

const ORIGIN = 'https://pets.example';

/** @param csv with a header; `forced`: barcodes of 14 digits to mark as stored with --force */
export async function catalogOf(csv: string, ...forced: string[]): Promise<Catalog> {
  const { rows, problems } = parseCatalog(csv);
  const { catalog, database, store } = await emptyCatalog();
  const all = [...problems, ...(await store(rows))];
  if (all.length > 0) throw new Error(JSON.stringify(all));
  for (const barcode of forced) database.run('UPDATE catalogBarcode SET forced = 1 WHERE barcode = ?', barcode);
  return catalog;
}

/** `store` works like `catalog import`, and returns what is wrong with the rows. */
export async function emptyCatalog() {
  const database = await openDatabase(':memory:');
  for (const statement of STATE_DATABASE.schema) database.exec(statement);
  const store = (rows: readonly CatalogRow[], force = false): Promise<readonly Problem[]> =>
    storeRows(database, ORIGIN, rows, force, () => Promise.resolve());
  return { catalog: new Catalog(database, ORIGIN), database, store };
}

/** Keeps the sandbox from storing its own names. */
export async function withoutSandboxNames<C extends TestContext>(context: C): Promise<C> {
  await context.files.makePrivateFolder(`${context.home.state}/petstore`);
  using state = await openStateFile(context, `${context.home.state}/petstore/state.db`);
  state.database.run("INSERT OR REPLACE INTO meta VALUES ('provided sandbox', 'none')");
  return context;
}
