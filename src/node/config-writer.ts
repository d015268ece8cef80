/** The ConfigWriter port over conf, which writes a temporary file and renames it over the old one. */
import type { ConfigWriter } from '../ports.ts';

export const nodeConfigWriter: ConfigWriter = {
  async prepare() {
    await import('conf');
  },
  async write(folder, name, content) {
    const { default: Conf } = await import('conf');
    const store = new Conf<Record<string, unknown>>({
      cwd: folder,
      configName: name,
      fileExtension: 'json',
      projectName: 'petstore',
      projectSuffix: '',
      configFileMode: 0o600,
      clearInvalidConfig: false,
    });
    store.store = { ...content };
  },
};
