import { defineCommand } from '../cli/command.ts';
import { VERSION } from '../version.ts';

export const version = defineCommand({
  path: 'version',
  common: 'output',
  summary: 'Print the version',
  examples: [{ says: 'The same as petstore --version', command: 'petstore version' }],
  run: () => Promise.resolve({ view: 'text', text: VERSION }),
});
