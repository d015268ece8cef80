/** The tables of the state database. */
import type { DatabaseKind } from './file.ts';

export const STATE_DATABASE: DatabaseKind = {
  name: 'state database',
  applicationId: 0x70657473,
  // Counts transactions: a process that waits can tell a busy queue from one process that hangs.
  everyTransaction: "INSERT INTO meta VALUES ('turns', '1') ON CONFLICT (name) DO UPDATE SET value = value + 1",
  schema: [
    'CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID',
    `CREATE TABLE ledger (
       name TEXT PRIMARY KEY,
       state TEXT NOT NULL,
       boot TEXT NOT NULL,
       monotonic REAL NOT NULL,
       wall REAL NOT NULL
     ) STRICT, WITHOUT ROWID`,
    // Quantities are integers of any size. Instants: epoch ms. `adds`: 1 for a run that adds to the stock.
    `CREATE TABLE run (
       id INTEGER PRIMARY KEY,
       kind TEXT NOT NULL CHECK (kind IN ('import', 'count', 'edit', 'undo', 'smoke')),
       startedAt INTEGER NOT NULL,
       endedAt INTEGER,
       environment TEXT NOT NULL,
       origin TEXT NOT NULL,
       source TEXT,
       hash TEXT,
       adds INTEGER
     ) STRICT`,
    `CREATE TABLE change (
       id INTEGER PRIMARY KEY,
       run INTEGER REFERENCES run,
       line INTEGER,
       environment TEXT NOT NULL,
       origin TEXT NOT NULL,
       command TEXT NOT NULL,
       person TEXT NOT NULL,
       petId INTEGER NOT NULL,
       before TEXT,
       after TEXT NOT NULL,
       state TEXT NOT NULL CHECK (state IN (
         'planned', 'sent', 'applied', 'failed', 'unknown', 'unchanged', 'conflict', 'discarded'
       )),
       reason TEXT,
       sentAt INTEGER
     ) STRICT`,
    'CREATE INDEX changesOfRun ON change (run, sentAt)',
    'CREATE INDEX changesOfPet ON change (petId)',
    'CREATE INDEX changesSent ON change (sentAt) WHERE sentAt IS NOT NULL',
    `CREATE TABLE scan (
       run INTEGER NOT NULL REFERENCES run,
       seq INTEGER NOT NULL,
       petId INTEGER NOT NULL,
       quantity TEXT NOT NULL,
       PRIMARY KEY (run, seq)
     ) STRICT, WITHOUT ROWID`,
    // The newest write of this machine to each pet. `turn`: of `meta`, when it was noted.
    `CREATE TABLE written (
       origin TEXT NOT NULL,
       petId INTEGER NOT NULL,
       turn INTEGER NOT NULL,
       PRIMARY KEY (origin, petId)
     ) STRICT, WITHOUT ROWID`,
    // Names and barcodes of the pets of each service. `barcode` has 14 digits.
    `CREATE TABLE catalogPet (
       origin TEXT NOT NULL,
       petId INTEGER NOT NULL,
       name TEXT NOT NULL,
       PRIMARY KEY (origin, petId)
     ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE catalogBarcode (
       origin TEXT NOT NULL,
       barcode TEXT NOT NULL,
       petId INTEGER NOT NULL,
       forced INTEGER NOT NULL,
       PRIMARY KEY (origin, barcode)
     ) STRICT, WITHOUT ROWID`,
    'CREATE INDEX barcodesOfPet ON catalogBarcode (origin, petId)',
    // Changes that the user has made in `inventory browse` and not applied yet. Quantities are integers of any size.
    `CREATE TABLE draft (
       origin TEXT NOT NULL,
       petId INTEGER NOT NULL,
       current TEXT NOT NULL,
       quantity TEXT NOT NULL,
       PRIMARY KEY (origin, petId)
     ) STRICT, WITHOUT ROWID`,
  ],
};
