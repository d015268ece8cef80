// Types of the parts of undici that a request needs. Loading the whole library takes twice as long. All private paths
// are here and, for the build, in src/build/bundling.ts, so package.json pins the exact version.
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici';
  export default Client;
}
declare module 'undici/lib/core/connect.js' {
  import type { Socket } from 'node:net';
  import type { buildConnector as build } from 'undici';
  // It also returns the socket, which undici's own types omit.
  export type Connector = (options: build.Options, callback: build.Callback) => Socket;
  export default function buildConnector(options: build.BuildOptions): Connector;
}
declare module 'undici/lib/api/api-connect.js' {
  import type { Socket } from 'node:net';
  import type { Dispatcher } from 'undici';
  const connect: (
    this: Pick<Dispatcher, 'dispatch'>,
    options: Dispatcher.ConnectOptions,
  ) => Promise<{ readonly statusCode: number; readonly socket: Socket }>;
  export default connect;
}
declare module 'undici/lib/llhttp/constants.js' {
  export const ERROR: Readonly<Record<string, number>>;
  export const TYPE: Readonly<Record<string, number>>;
}
