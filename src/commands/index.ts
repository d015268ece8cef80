/** Every command, in the order of the help. */
import type { AnyCommand } from '../cli/command.ts';
import { api } from './api.ts';
import { completion } from './completion.ts';
import { configGet, configList, configPathCommand, configSet, configUnset } from './config.ts';
import { doctor } from './doctor.ts';
import { help } from './help.ts';
import { inventoryAdjust } from './inventory-adjust.ts';
import { inventoryCount } from './inventory-count.ts';
import { inventoryEdit } from './inventory-edit.ts';
import { inventoryHistory, inventoryUndo } from './inventory-history.ts';
import { inventoryImport } from './inventory-import.ts';
import { inventoryList } from './inventory-list.ts';
import { inventorySet } from './inventory-set.ts';
import { limits } from './limits.ts';
import { login } from './login.ts';
import { logout } from './logout.ts';
import { sandboxKeys, sandboxReset, sandboxSeed, sandboxStatus } from './sandbox.ts';
import { sandboxServe } from './sandbox-serve.ts';
import { smoke } from './smoke.ts';
import { status } from './status.ts';
import { wait } from './wait.ts';

interface Section {
  readonly title: string;
  readonly commands: readonly AnyCommand[];
}

export const SECTIONS: readonly Section[] = [
  {
    title: 'Stock',
    commands: [
      inventoryList,
      inventorySet,
      inventoryAdjust,
      inventoryImport,
      inventoryCount,
      inventoryEdit,
      inventoryHistory,
      inventoryUndo,
    ],
  },
  { title: 'Limits, checks, raw calls', commands: [limits, smoke, wait, doctor, api] },
  {
    title: 'Key and settings',
    commands: [login, logout, status, configList, configGet, configSet, configUnset, configPathCommand],
  },
  {
    title: 'Sandbox',
    commands: [sandboxServe, sandboxStatus, sandboxKeys, sandboxSeed, sandboxReset],
  },
  { title: 'Help', commands: [completion, help] },
];

export const COMMANDS: readonly AnyCommand[] = SECTIONS.flatMap(({ commands }) => commands);

/** The groups that hold them. */
export const GROUPS: Readonly<Record<string, string>> = {
  inventory: 'Stock levels of the pets',
  config: 'Settings in the config file',
  sandbox: 'The service itself, on this machine',
};
