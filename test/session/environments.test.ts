/** What is offered in place of a base URL that was refused. */
import { expect, it } from 'vitest';
import { suggestBaseUrl } from '../../src/session/environments.ts';

it.each<[text: string, suggested: string | undefined]>([
  ['localhost:4033', 'http://localhost:4033/v1'],
  ['http://localhost:4033', 'http://localhost:4033/v1'],
  ['https://localhost:4033/', 'https://localhost:4033/v1'],
  ['127.0.0.1:4033/v1', 'http://127.0.0.1:4033/v1'],
  ['pets.example', 'https://pets.example/v1'],
  ['pets.example:8443/api/', 'https://pets.example:8443/api/v1'],
  ['https://pets.example', 'https://pets.example/v1'],
  ['https://pets.example/v1/inventory', 'https://pets.example/v1'],
  ['https://pets.example/v11', 'https://pets.example/v11/v1'],
  ['https://pets.example/v1?x=1#y', 'https://pets.example/v1'],
  ['http://pets.example/v1', 'https://pets.example/v1'],
  ['', undefined],
  ['my store', undefined],
  ['ftp://pets.example/v1', undefined],
  ['https://clerk:secret@pets.example/v1', undefined],
  ['clerk:secret@pets.example', undefined],
])('%s: %s', (text, suggested) => {
  expect(suggestBaseUrl(text)?.href).toBe(suggested);
});
