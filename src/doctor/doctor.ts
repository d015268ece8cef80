/** `petstore doctor`: this machine first, then the way to the service. */
import type { CommandContext } from '../session/globals.ts';
import { type Diagnosis, skipped } from './diagnosis.ts';
import { lookAtMachine } from './local.ts';
import { lookAtService } from './connectivity.ts';

export async function* examine(context: CommandContext, isOffline: boolean): AsyncGenerator<Diagnosis> {
  const settings = yield* lookAtMachine(context, isOffline);
  if (isOffline) yield skipped('service', 'Not asked, because of --offline.');
  else if (settings === undefined) yield skipped('service', 'No base URL is known.');
  else yield* lookAtService(context, settings);
}
