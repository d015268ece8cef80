/** Files that the build inlines as text. */
declare module '*/_petstore' {
  const text: string;
  export default text;
}
declare module '*.bash' {
  const text: string;
  export default text;
}
declare module '*.fish' {
  const text: string;
  export default text;
}
declare module '*.ps1' {
  const text: string;
  export default text;
}
