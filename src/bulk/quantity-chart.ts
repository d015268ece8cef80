/** One pet's quantity over its changes, as a chart. */
import type { Names } from '../session/catalog.ts';
import type { Change } from '../state/journal.ts';
import type { ChartLine, ChartView } from '../view/view.ts';
import { outcomeOf } from './history-view.ts';

export interface QuantityChart extends ChartView {
  /** How many changes failed: they have no line. */
  readonly failed: number;
}

interface Options {
  readonly names: Names;
  /** Epoch ms. */
  readonly now: number;
  /** Of a chart without lines. */
  readonly empty: string;
}

/**
 * Returns a chart of changes of one pet, newest first, each line with what was there after the change. Where it is not
 * certain that a change was applied, the line has no bar. Each service has a section of its own: in another one, the
 * same id is another pet.
 */
export function quantityChart(changes: Iterable<readonly Change[]>, { names, now, empty }: Options): QuantityChart {
  const services = new Map<string, { readonly first: Change; readonly lines: ChartLine[] }>();
  let failed = 0;
  for (const batch of changes) {
    for (const change of batch) {
      if (change.state === 'failed') {
        failed++;
        continue;
      }
      const key = `${change.environment} ${change.origin}`;
      const service = services.get(key) ?? { first: change, lines: [] };
      services.set(key, service);
      service.lines.push(lineOf(change));
    }
  }
  const all = [...services.values()];
  const sections = all.map(({ first, lines }) => {
    const { environment, origin, petId } = first;
    const name = names.get(origin)?.get(petId) ?? '';
    const isAmbiguous = all.some((other) => other.first !== first && other.first.environment === environment);
    const title = `Pet ${petId}${name === '' ? '' : ` (${name})`} in ${environment}${isAmbiguous ? `, ${origin}` : ''}`;
    return { title, lines: lines.toReversed() };
  });
  return { view: 'chart', sections, now, empty: failed === 0 ? empty : 'None of these changes was applied.', failed };
}

function lineOf({ after, sentAt = 0, state }: Change): ChartLine {
  return { at: sentAt, value: after, ...(state !== 'applied' && { note: outcomeOf(state) }) };
}
