import { openapiDocument } from '../api/openapi.ts';

/** src/api/openapi.json. */
export function generateOpenapi(): Promise<string> {
  return Promise.resolve(`${JSON.stringify(openapiDocument(), null, 2)}\n`);
}
