/**
 * Measures the downloads: the npm package and the standalone executable. Prints Markdown on stdout.
 *
 *   npm run bench -- sizes [--assert]
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { markdownTable, readOptions, STANDALONE } from './report.ts';

const MOST_PACKED_MB = 1;

const values = readOptions({});
const [packed] = JSON.parse(
  execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }),
) as [{ size: number; unpackedSize: number }];

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(2);
const rows = [
  ['npm package', `${megabytes(packed.size)} (less than ${MOST_PACKED_MB})`, megabytes(packed.unpackedSize)],
  ...(existsSync(STANDALONE)
    ? [
        [
          'standalone executable, Linux',
          megabytes(gzipSync(readFileSync(STANDALONE)).length),
          megabytes(statSync(STANDALONE).size),
        ],
      ]
    : []),
];
console.log(markdownTable(['', 'packed (gzip), MB', 'unpacked, MB'], rows));
if (values.assert && packed.size >= MOST_PACKED_MB * 1e6) process.exitCode = 1;
