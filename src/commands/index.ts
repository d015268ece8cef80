/** Lists every command, in the order of the help. A command line loads only the one that it names. */
import type { AnyCommand, CommandDescription } from '../cli/command.ts';

/**
 * Commands by path. `petstore --help` lists each command of the first section, but only the groups of the others.
 */
export const SECTIONS: readonly { title: string; commands: Readonly<Record<string, () => Promise<AnyCommand>>> }[] = [
  {
    title: 'Stock',
    commands: {
      'inventory list': async () => (await import('./inventory-list.ts')).inventoryList,
      'inventory summary': async () => (await import('./inventory-summary.ts')).inventorySummary,
      'inventory get': async () => (await import('./inventory-get.ts')).inventoryGet,
      'inventory set': async () => (await import('./inventory-set.ts')).inventorySet,
      'inventory adjust': async () => (await import('./inventory-adjust.ts')).inventoryAdjust,
      'inventory browse': async () => (await import('./inventory-browse.ts')).inventoryBrowse,
      'inventory import': async () => (await import('./inventory-import.ts')).inventoryImport,
      'inventory count': async () => (await import('./inventory-count.ts')).inventoryCount,
      'inventory edit': async () => (await import('./inventory-edit.ts')).inventoryEdit,
      'inventory history': async () => (await import('./inventory-history.ts')).inventoryHistory,
      'inventory undo': async () => (await import('./inventory-undo.ts')).inventoryUndo,
      'inventory redo': async () => (await import('./inventory-undo.ts')).inventoryRedo,
      'inventory runs': async () => (await import('./inventory-runs.ts')).inventoryRuns,
    },
  },
  {
    title: 'Setup',
    commands: {
      login: async () => (await import('./login.ts')).login,
      logout: async () => (await import('./logout.ts')).logout,
      status: async () => (await import('./status.ts')).status,
      'config list': async () => (await import('./config.ts')).configList,
      'config get': async () => (await import('./config.ts')).configGet,
      'config set': async () => (await import('./config.ts')).configSet,
      'config unset': async () => (await import('./config.ts')).configUnset,
      'config profiles': async () => (await import('./config.ts')).configProfiles,
      'config path': async () => (await import('./config.ts')).configPathCommand,
      'catalog import': async () => (await import('./catalog.ts')).catalogImport,
      'catalog list': async () => (await import('./catalog.ts')).catalogList,
      'catalog set': async () => (await import('./catalog.ts')).catalogSet,
      'catalog remove': async () => (await import('./catalog.ts')).catalogRemove,
      doctor: async () => (await import('./doctor.ts')).doctor,
      completion: async () => (await import('./completion.ts')).completion,
    },
  },
  {
    title: 'Automation',
    commands: {
      limits: async () => (await import('./limits.ts')).limits,
      smoke: async () => (await import('./smoke.ts')).smoke,
      wait: async () => (await import('./wait.ts')).wait,
      api: async () => (await import('./api.ts')).api,
      proxy: async () => (await import('./proxy.ts')).proxy,
      'proxy token add': async () => (await import('./proxy.ts')).proxyTokenAdd,
    },
  },
  {
    title: 'Other',
    commands: {
      'sandbox serve': async () => (await import('./sandbox-serve.ts')).sandboxServe,
      'sandbox status': async () => (await import('./sandbox.ts')).sandboxStatus,
      'sandbox keys': async () => (await import('./sandbox.ts')).sandboxKeys,
      'sandbox seed': async () => (await import('./sandbox.ts')).sandboxSeed,
      'sandbox reset': async () => (await import('./sandbox.ts')).sandboxReset,
      help: async () => (await import('./help.ts')).help,
      version: async () => (await import('./help.ts')).version,
    },
  },
];

export const LOADERS = Object.fromEntries(SECTIONS.flatMap(({ commands }) => Object.entries(commands)));

/** Groups of commands, each with the defaults that its commands inherit unless they override them. */
export const GROUPS: Readonly<Record<string, Pick<CommandDescription, 'summary' | 'common' | 'more'>>> = {
  inventory: { summary: 'Stock levels of the pets', more: ['output', 'exit-codes'] },
  catalog: {
    summary: 'Names, barcodes, minimum and target of the pets',
    common: 'environment',
    more: ['environments', 'exit-codes'],
  },
  config: { summary: 'Settings in the config file', common: 'output', more: ['environments'] },
  'proxy token': { summary: 'Tokens of the clients of the proxy' },
  sandbox: { summary: 'A local copy of the service', common: 'output', more: ['environments', 'rate-limits'] },
};
