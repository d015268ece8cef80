import { itemToJson } from '../api/item.ts';
import { PET_STATUSES } from '../api/values.ts';
import { type CommandSpec, durationValue, integerValue, petIdValue, wordValue } from '../cli/command.ts';
import { Failure } from '../errors.ts';
import type { RecordView } from '../view/view.ts';

interface WaitInput {
  readonly pet?: bigint;
  readonly quantity?: bigint;
  readonly min?: bigint;
  readonly max?: bigint;
  readonly status?: string;
  /** In ms. */
  readonly for?: number;
  readonly interval: number;
}

const DEFAULT_MS = 300_000;

export const wait: CommandSpec<WaitInput> = {
  path: 'wait',
  summary: 'Wait until a pet has a quantity or a status',
  description:
    "Looks at the list again and again, at a pace that the key's allowance affords, until all that was asked for " +
    'holds; then shows the pet. If it does not hold in time, it exits 13.',
  examples: [
    { says: 'Until a delivery has been booked', command: 'petstore wait --pet 7 --quantity 12 --for 10m' },
    { says: 'Until it is sold out', command: 'petstore wait --pet 7 --max 0 --for 1h' },
  ],
  options: [
    { purpose: 'What to wait for', flags: '--pet <id>', description: 'the pet', parse: petIdValue('--pet') },
    {
      purpose: 'What to wait for',
      flags: '--quantity <quantity>',
      description: 'exactly this quantity',
      parse: integerValue('--quantity'),
    },
    {
      purpose: 'What to wait for',
      flags: '--min <quantity>',
      description: 'at least this quantity',
      parse: integerValue('--min'),
    },
    {
      purpose: 'What to wait for',
      flags: '--max <quantity>',
      description: 'at most this quantity',
      parse: integerValue('--max'),
    },
    {
      purpose: 'What to wait for',
      flags: '--status <status>',
      description: PET_STATUSES.join(', '),
      parse: wordValue('--status', PET_STATUSES),
    },
    {
      purpose: 'How long',
      flags: '--for <duration>',
      description: 'how long at most (default: --timeout where it is given, else 5m)',
      parse: durationValue('--for', 0),
    },
    {
      purpose: 'How long',
      flags: '--interval <duration>',
      description: 'at least so long between two looks',
      default: 5_000,
      shownDefault: '5s',
      parse: durationValue('--interval', 100),
    },
  ],
  more: ['scripting', 'rate-limits', 'exit-codes'],
  async run(input, context): Promise<RecordView> {
    const { pet, quantity, min, max, status } = input;
    if (pet === undefined) throw new Failure('usage', { problem: 'Say which pet: --pet ID.' });
    if ([quantity, min, max, status].every((each) => each === undefined)) {
      throw new Failure('usage', { problem: 'Say what to wait for: --quantity, --min, --max or --status.' });
    }
    const { waitFor } = await import('../watch/watch.ts');
    const { timeoutIsExplicit, timeout } = context.globals;
    const found = await waitFor(context, {
      ...input,
      pet,
      for: input.for ?? (timeoutIsExplicit ? timeout : DEFAULT_MS),
    });
    return {
      view: 'record',
      text: `Pet ${found.petId}: ${found.quantity} (${found.status}).`,
      json: itemToJson(found),
      fields: [
        { name: 'petId', value: found.petId },
        { name: 'quantity', value: found.quantity },
        { name: 'status', value: found.status },
      ],
    };
  },
};
