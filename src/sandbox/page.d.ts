/** The sandbox's page, which build/page.ts makes from page/. */
declare module '*/page.json' {
  const page: { readonly policy: string; readonly html: string };
  export default page;
}
