/** Keeps Node's warnings that contain the text from being printed, until the returned function is called. */
export function muteWarnings(text: string): () => void {
  const emit = process.emitWarning;
  process.emitWarning = (...all: [warning: string | Error, ...rest: unknown[]]) => {
    if (!String(all[0]).includes(text)) Reflect.apply(emit, process, all);
  };
  return () => {
    process.emitWarning = emit;
  };
}
