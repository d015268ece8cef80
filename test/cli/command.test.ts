import { Option } from 'commander';
import { describe, expect, it } from 'vitest';
import { GLOBAL_OPTIONS } from '../../src/cli/global-options.ts';
import { LOADERS } from '../../src/commands/index.ts';

const COMMANDS = await Promise.all(Object.values(LOADERS).map((load) => load()));

describe('the options of every command', () => {
  it('have the name that their long form has', () => {
    const options = [...GLOBAL_OPTIONS, ...COMMANDS.flatMap(({ options }) => options)];
    const misnamed = options.filter(({ name, flags }) => new Option(flags).attributeName() !== name);
    expect(misnamed).toEqual([]);
  });

  it('conflict with, and need, options that exist', () => {
    const unknown = [GLOBAL_OPTIONS, ...COMMANDS.map(({ options }) => options)].flatMap((options) =>
      options
        .flatMap(({ conflicts = [], needs = [] }) => [conflicts, needs].flat())
        .filter((other) => !options.some(({ name }) => name === other)),
    );
    expect(unknown).toEqual([]);
  });
});
