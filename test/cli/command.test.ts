import { Option } from 'commander';
import { describe, expect, it } from 'vitest';
import { argument, defineCommand, flag, option, optionalArgument, optionsOf } from '../../src/cli/command.ts';
import { GLOBAL_OPTIONS } from '../../src/cli/global-options.ts';
import { durationValue, integerValue, listOf, petIdValue, textValue } from '../../src/cli/value-parsers.ts';
import { LOADERS } from '../../src/commands/index.ts';

const COMMANDS = await Promise.all(Object.values(LOADERS).map((load) => load()));

describe('the options of every command', () => {
  it('have the name that their long form has', () => {
    const options = [...GLOBAL_OPTIONS, ...COMMANDS.flatMap(optionsOf)];
    const misnamed = options.filter(({ name, flags }) => new Option(flags).attributeName() !== name);
    expect(misnamed).toEqual([]);
  });

  it('conflict with, and need, options that exist', () => {
    const unknown = [GLOBAL_OPTIONS, ...COMMANDS.map(optionsOf)].flatMap((options) =>
      options
        .flatMap(({ conflicts = [], needs = [] }) => [conflicts, needs].flat())
        .filter((other) => !options.some(({ name }) => name === other)),
    );
    expect(unknown).toEqual([]);
  });
});

describe('the input of run', () => {
  it('has the types that arguments and options say', () => {
    const spec = { path: 'try', summary: '', examples: {} };
    const command = defineCommand({
      ...spec,
      arguments: { petId: argument(petIdValue, ''), file: optionalArgument(textValue, '') },
      options: {
        min: option('--min <quantity>', integerValue, ''),
        limit: option('--limit <count>', integerValue, '', { default: '50' }),
        pet: option('--pet <id...>', listOf(petIdValue), ''),
        watch: option('--watch [interval]', durationValue(0), ''),
        dryRun: flag('--dry-run', ''),
        header: flag('--no-header', ''),
      },
      run(input) {
        const typed: {
          readonly petId: bigint;
          readonly file?: string;
          readonly min?: bigint;
          readonly limit: bigint;
          readonly pet?: bigint[];
          readonly watch?: number | true;
          readonly dryRun?: boolean;
          readonly header: boolean;
        } = input;
        // @ts-expect-error -- an absent option is undefined
        const min: bigint = input.min;
        // @ts-expect-error -- the option is called dryRun
        const mistyped = input.dryrun as unknown;
        return Promise.resolve({ view: 'text', text: String([typed.petId, min, mistyped]) });
      },
    });
    expect(optionsOf(command).map(({ name }) => name)).toEqual(['min', 'limit', 'pet', 'watch', 'dryRun', 'header']);

    defineCommand({
      ...spec,
      // @ts-expect-error -- a command without options has an empty input
      run: ({ min }) => Promise.resolve({ view: 'text', text: String(min) }),
    });
  });
});
