/** The page for people, which the build makes of page/ (build/page.ts). */
declare module '*/page.json' {
  const page: { readonly policy: string; readonly html: string };
  export default page;
}
