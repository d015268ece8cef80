/** Options that select pets: the filters of api/select.ts, the same in each command that takes them. */
import { PET_STATUSES } from '../api/values.ts';
import { option, under } from './command.ts';
import { integerValue, listOf, petIdValue, wordValue } from './values.ts';

export const FILTER_OPTIONS = under('Filters', {
  status: option(
    '--status <status...>',
    listOf(wordValue(PET_STATUSES)),
    `only pets of this status: ${PET_STATUSES.join(', ')}`,
  ),
  pet: option('--pet <id...>', listOf(petIdValue), 'only these pets'),
  min: option('--min <quantity>', integerValue, 'only a quantity of at least this'),
  max: option('--max <quantity>', integerValue, 'only a quantity of at most this'),
});
