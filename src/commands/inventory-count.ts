import { defineCommand, option } from '../cli/command.ts';
import { integerValue, textValue } from '../cli/values.ts';
import type { RecordView } from '../view/view.ts';

export const inventoryCount = defineCommand({
  path: 'inventory count',
  summary: 'Take stock with a barcode scanner: scan, see the differences, set them',
  description:
    'Reads one scan a line: an id, or an id and a quantity. Each is echoed with the count so far and kept on the disk ' +
    'at once; an id that the service does not know rings the bell and is not counted. "-" takes the last scan back, ' +
    '"done" (or the end of a pipe) ends it: then the differences are shown and, if you agree, set. Pets that were not ' +
    'scanned are left as they are.',
  examples: [
    { says: 'At the shelf', command: 'petstore inventory count' },
    { says: 'Labels that read PET-7', command: 'petstore inventory count --prefix PET-' },
    { says: 'After a crash, or Ctrl-C', command: 'petstore inventory count --resume' },
    { says: 'Scans from a file', command: 'petstore inventory count --yes < scans.txt' },
  ],
  options: {
    prefix: option('--prefix <text>', textValue, 'what stands before each id on the labels'),
    resume: option('--resume [run]', integerValue, 'go on scanning; the newest stocktake, unless its number is given'),
  },
  experimental: true,
  more: ['environments', 'rate-limits', 'exit-codes'],
  async run(input, context): Promise<RecordView> {
    const { count } = await import('../bulk/count.ts');
    return count(context, input);
  },
});
