/** A key as it may be shown: enough to tell two apart, too little to use one. */
export function maskKey(key: string): string {
  return key.length >= 16 ? `****${key.slice(-4)}` : '****';
}
