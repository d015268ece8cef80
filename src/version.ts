/** The version in package.json, inserted by the build. Tests run the sources, which have no version. */
declare const __VERSION__: string | undefined;
export const VERSION: string = typeof __VERSION__ === 'string' ? __VERSION__ : '0.0.0-source';
