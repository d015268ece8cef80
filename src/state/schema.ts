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
    // Quantities are integers of any size. Instants: epoch ms. `adds`: the hash of what a run adds to the stock.
    // `restOf`: the first run of a delivery, of which this run adds the rest.
    // `undoesRun`, `undoesChange`: the command that an undo takes back, or that a redo brings back.
    `CREATE TABLE run (
       id INTEGER PRIMARY KEY,
       kind TEXT NOT NULL CHECK (kind IN ('import', 'count', 'edit', 'browse', 'undo', 'redo', 'smoke')),
       startedAt INTEGER NOT NULL,
       endedAt INTEGER,
       environment TEXT NOT NULL,
       origin TEXT NOT NULL,
       source TEXT,
       hash TEXT,
       adds TEXT,
       restOf INTEGER,
       undoesRun INTEGER,
       undoesChange INTEGER
     ) STRICT`,
    'CREATE INDEX undosOfRun ON run (undoesRun) WHERE undoesRun IS NOT NULL',
    'CREATE INDEX undosOfChange ON run (undoesChange) WHERE undoesChange IS NOT NULL',
    // `cause` and `note`: why, in the user's words; NULL if not given. `turn`: value of `turns` in `meta` when it
    // was sent, before that when it was planned. `noted`: the same when it was sent, then when its outcome was noted.
    `CREATE TABLE change (
       id INTEGER PRIMARY KEY,
       run INTEGER REFERENCES run,
       line INTEGER,
       environment TEXT NOT NULL,
       origin TEXT NOT NULL,
       command TEXT NOT NULL,
       person TEXT NOT NULL,
       cause TEXT,
       note TEXT,
       petId INTEGER NOT NULL,
       before TEXT,
       after TEXT NOT NULL,
       state TEXT NOT NULL CHECK (state IN (
         'planned', 'sent', 'applied', 'failed', 'unknown', 'unchanged', 'conflict', 'discarded'
       )),
       reason TEXT,
       sentAt INTEGER,
       turn INTEGER,
       noted INTEGER
     ) STRICT`,
    'CREATE INDEX changesOfRun ON change (run, sentAt)',
    'CREATE INDEX changesOfPet ON change (petId, noted)',
    'CREATE INDEX changesSent ON change (sentAt) WHERE sentAt IS NOT NULL',
    'CREATE INDEX changesInTurn ON change (turn) WHERE sentAt IS NOT NULL',
    `CREATE TABLE scan (
       run INTEGER NOT NULL REFERENCES run,
       seq INTEGER NOT NULL,
       petId INTEGER NOT NULL,
       quantity TEXT NOT NULL,
       stock TEXT NOT NULL,
       PRIMARY KEY (run, seq)
     ) STRICT, WITHOUT ROWID`,
    // Names and barcodes of the pets of each service. `search`: the name without case and accents. Quantities are
    // integers of any size. `provided`: 1 for a pet from a gateway or the sandbox. `barcode` has 14 digits.
    `CREATE TABLE catalogPet (
       origin TEXT NOT NULL,
       petId INTEGER NOT NULL,
       provided INTEGER NOT NULL,
       name TEXT NOT NULL,
       search TEXT NOT NULL,
       min TEXT,
       target TEXT,
       PRIMARY KEY (origin, petId)
     ) STRICT, WITHOUT ROWID`,
    'CREATE INDEX petsByName ON catalogPet (origin, search)',
    `CREATE TABLE catalogBarcode (
       origin TEXT NOT NULL,
       barcode TEXT NOT NULL,
       petId INTEGER NOT NULL,
       forced INTEGER NOT NULL,
       PRIMARY KEY (origin, barcode)
     ) STRICT, WITHOUT ROWID`,
    'CREATE INDEX barcodesOfPet ON catalogBarcode (origin, petId)',
    // What the user has said of the columns of files with such a header: JSON of its headings, and of values of --map.
    'CREATE TABLE columnAnswer (header TEXT PRIMARY KEY, mappings TEXT NOT NULL) STRICT, WITHOUT ROWID',
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
