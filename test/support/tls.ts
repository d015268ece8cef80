/**
 * Makes a throw-away certificate authority and its certificates for tests. Writes X.509 (RFC 5280) in DER itself,
 * because node:crypto only reads certificates and not every machine has the openssl command.
 */
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import tls from 'node:tls';
import { onCleanup } from './cleanup.ts';
import { createHome } from './home.ts';

/** Private key and certificate, PEM. */
export interface Identity {
  readonly key: string;
  readonly cert: string;
}

export interface Identities {
  /** The authority's certificate, PEM. */
  readonly ca: string;
  /** For 127.0.0.1 and localhost, signed by the authority. */
  readonly good: Identity;
  /** The same, but expired yesterday. */
  readonly expired: Identity;
  /** For 127.0.0.1 and localhost, self-signed. */
  readonly selfSigned: Identity;
  /** For pets.example, signed by the authority. */
  readonly wrongHost: Identity;
}

interface Names {
  readonly dns: readonly string[];
  readonly ip: readonly (readonly number[])[];
}

interface Signer {
  readonly name: string;
  readonly key: KeyObject;
}

interface Issue {
  readonly names: readonly string[];
  readonly days?: number;
  readonly selfSigned?: boolean;
  /** Default: one of P-256. */
  readonly key?: KeyObject;
}

interface Made extends Identities {
  issue(wanted: Issue): Identity;
}

let made: Made | undefined;

/** Creates them once for each test file. */
export function tlsIdentities(): Identities {
  made ??= makeIdentities();
  return made;
}

/** Makes another certificate for these host names, by the same authority or self-signed. */
export function issueIdentity(wanted: Issue): Identity {
  made ??= makeIdentities();
  return made.issue(wanted);
}

/** Writes the authority's certificate to a file, for NODE_EXTRA_CA_CERTS. */
export function caFile(): string {
  const path = join(createHome().path, 'ca.pem');
  writeFileSync(path, tlsIdentities().ca);
  return path;
}

/** Makes TLS connections of this process trust the authority until the test ends. */
export function trustAuthority(): void {
  const create = tls.createSecureContext;
  tls.createSecureContext = (options) => create({ ...options, ca: tlsIdentities().ca });
  onCleanup(() => {
    tls.createSecureContext = create;
  });
}

function makeIdentities(): Made {
  const day = 86_400_000;
  const now = Date.now();
  const here: Names = { dns: ['localhost'], ip: [[127, 0, 0, 1]] };
  const authority: Signer = { name: 'Test authority', key: newKey() };
  const make = (name: string, names: Names, days: number, signer?: Signer, key = newKey()): Identity => {
    const validity = [now - 10 * day, now + days * day] as const;
    return {
      key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
      cert: certificate({ name, key, signer: signer ?? { name, key }, validity, extensions: [subjectAltName(names)] }),
    };
  };
  return {
    ca: certificate({
      ...authority,
      signer: authority,
      validity: [now - 10 * day, now + 100 * day],
      extensions: [extension('551d13', sequence(boolean(true)), true)], // basicConstraints: a CA
    }),
    good: make('good', here, 10, authority),
    expired: make('expired', here, -1, authority),
    selfSigned: make('self-signed', here, 10),
    wrongHost: make('wrong host', { dns: ['pets.example'], ip: [] }, 10, authority),
    issue: ({ names, days = 60, selfSigned = false, key }) =>
      make(names[0] ?? 'nobody', { dns: names, ip: [] }, days, selfSigned ? undefined : authority, key),
  };
}

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

interface Contents {
  readonly name: string;
  readonly key: KeyObject;
  readonly signer: Signer;
  readonly validity: readonly [notBefore: number, notAfter: number];
  readonly extensions: readonly Buffer[];
}

/** A PEM certificate (RFC 5280, 4.1). */
function certificate({ name, key, signer, validity, extensions }: Contents): string {
  const ecdsaWithSha256 = sequence(objectId('2a8648ce3d040302'));
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])), // serial number
    ecdsaWithSha256,
    distinguishedName(signer.name),
    sequence(...validity.map(utcTime)),
    distinguishedName(name),
    subjectPublicKeyInfo(key),
    der(0xa3, sequence(...extensions)),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', toBeSigned, signer.key));
  const base64 = sequence(toBeSigned, ecdsaWithSha256, signature).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
}

const subjectPublicKeyInfo = (key: KeyObject): Buffer => createPublicKey(key).export({ type: 'spki', format: 'der' });

const distinguishedName = (commonName: string): Buffer =>
  sequence(der(0x31, sequence(objectId('550403'), der(0x0c, Buffer.from(commonName)))));

const utcTime = (ms: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replace(/[-T:]/g, '')}Z`));

const subjectAltName = ({ dns, ip }: Names): Buffer =>
  extension(
    '551d11',
    sequence(...dns.map((name) => der(0x82, Buffer.from(name))), ...ip.map((bytes) => der(0x87, Buffer.from(bytes)))),
  );

const extension = (id: string, value: Buffer, critical = false): Buffer =>
  sequence(objectId(id), ...(critical ? [boolean(true)] : []), der(0x04, value));

const boolean = (value: boolean): Buffer => der(0x01, Buffer.from([value ? 0xff : 0]));
const objectId = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);

/** Tag, length, contents (X.690, 8.1). */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const contents = Buffer.concat(parts);
  const length = contents.length;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), contents]);
}
