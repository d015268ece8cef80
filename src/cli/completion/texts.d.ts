/** Files that the build inlines as text. */
declare module '*?text' {
  const text: string;
  export default text;
}
