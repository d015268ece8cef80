/** Turns commander's usage errors into Failures, dropping any text that may hold a secret. */
import type { CommanderError } from 'commander';
import { Failure } from '../errors.ts';
import type { Line, ScanOption } from './scan.ts';

/** A call that commander cannot read, as a failure of ours. */
export function usageFailure(error: CommanderError, line: Line<ScanOption>): Failure {
  const [problem = '', suggestion] = withoutValues(error.message).split('\n');
  const sentence = `${problem.charAt(0).toUpperCase()}${problem.slice(1).replace(/\.$/, '')}.`;
  if (isAboutKey(error, problem, line.path)) {
    return new Failure('usage', {
      problem: sentence,
      hint: 'Other users can see command lines: use petstore login --key-stdin, or PETSTORE_API_KEY.',
    });
  }
  const better = suggestion?.replace(/^\(|\)$/g, '');
  const hint = `See petstore ${line.path === '' ? '' : `${line.path} `}--help.`;
  const [, known = ''] = /^Did you mean (--[\w-]+)\?$/.exec(better ?? '') ?? [];
  if (problem.endsWith(`'${known}'`))
    return new Failure('usage', { problem: `Option '${known}' takes no value.`, hint });
  return new Failure('usage', { problem: sentence, hint: better ?? hint });
}

/** True when the user tried to pass the API key on the command line. */
function isAboutKey({ code }: CommanderError, problem: string, path: string): boolean {
  if (code === 'commander.excessArguments') return path === 'login';
  return code === 'commander.unknownOption' && /key|token|password|secret/i.test(problem);
}

/** Text after `=`, or a surplus argument, may be a secret: it is not repeated. */
function withoutValues(message: string): string {
  return message
    .replace(/^error: /, '')
    .replace(/(--?[\w-]+)=[^'\n]*/g, '$1')
    .replace(/(but got \d+): [^]*$/, '$1');
}
