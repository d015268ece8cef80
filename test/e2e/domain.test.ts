/** `doctor --domain` against a real DNS server and real TLS servers, through the built program. */
import { createServer } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Finished, runPetstore } from '../support/binary.ts';
import { listenOnLoopback } from '../support/cleanup.ts';
import { hasNamed, type NamedServer, startNamed } from '../support/dns.ts';
import type { Found } from '../support/staging.ts';
import { caFile, type Identity, issueIdentity } from '../support/tls.ts';

const TARGET = 'stores.platform.test';
const ALIAS = `shop CNAME ${TARGET}.`;
const CA = 'letsencrypt.org';

const ZONES = {
  // What the registry of the top-level domain would answer for unregistered names.
  test: [],
  'platform.test': ['stores A 127.0.0.1', 'old A 127.0.0.1'],
  'pets.test': [
    ALIAS,
    'elsewhere CNAME old.platform.test.',
    'taken A 192.0.2.7',
    'taken6 AAAA 2001:db8::7',
    'mail TXT "no address"',
    `www CNAME ${TARGET}.`,
  ],
  'strict.test': [ALIAS, '@ CAA 0 issue "digicert.com"', '@ CAA 0 iodef "mailto:ca@strict.test"'],
  'kind.test': [ALIAS, `@ CAA 0 issue "${CA}; validationmethods=dns-01"`, '@ CAA 0 issue "digicert.com"'],
  'sealed.test': [ALIAS, '@ CAA 0 issue ";"'],
  'wild.test': [ALIAS, '@ CAA 0 issuewild "digicert.com"'],
  'near.test': [ALIAS, `@ CAA 0 issue "${CA}"`, 'taken A 192.0.2.7', 'sub CAA 0 issue "digicert.com"'],
  'apex.test': ['@ A 127.0.0.1'],
  'other-apex.test': ['@ A 192.0.2.7'],
  'empty-apex.test': ['@ TXT "nothing yet"'],
  'broken.test': undefined,
};

describe.skipIf(!hasNamed)('doctor --domain', () => {
  let named: NamedServer;
  beforeAll(async () => {
    named = await startNamed(ZONES);
  });
  afterAll(() => named.close());

  async function serve(identity: Identity, answer: { status: number; location?: string } = { status: 200 }) {
    const server = createServer(identity, (_request, response) => {
      response.writeHead(answer.status, answer.location === undefined ? {} : { location: answer.location }).end();
    });
    return `127.0.0.1:${await listenOnLoopback(server)}`;
  }

  const run = (domain: string, args: readonly string[]): Promise<Finished> =>
    runPetstore(['doctor', '--domain', domain, '--target', TARGET, '--dns-server', named.address, ...args], {
      env: { NODE_EXTRA_CA_CERTS: caFile() },
    });

  /** The failed checks, and the whole output. */
  async function examine(domain: string, args: readonly string[] = []) {
    const { code, stdout } = await run(domain, ['--json', ...args]);
    const found = JSON.parse(stdout) as Found[];
    const sick = found.filter(({ health }) => health === 'fail' || health === 'warn');
    return { code, found, sick: sick.map(({ check, health }) => `${check}: ${health}`), first: sick[0] };
  }

  it('finds nothing wrong with a domain that works', async () => {
    const connect = await serve(issueIdentity({ names: ['shop.pets.test'] }));
    const { code, stdout } = await run('shop.pets.test', ['--connect', connect, '--ca', CA]);
    expect(stdout.split('\n')).toEqual([
      'note  before       Needed: a plan of Pro or above, access to the DNS settings, and a successful deploy.',
      'ok    zone         Its zone is pets.test.',
      'note  plan         The record to create in pets.test: CNAME, name shop, value stores.platform.test, TTL 3600.',
      'ok    record       shop.pets.test is an alias of stores.platform.test.',
      'ok    caa          No CAA record: any authority may issue.',
      expect.stringMatching(
        /^ok {4}certificate {2}TLSv1\.3; the certificate of shop\.pets\.test is trusted \(shop\.pets\.test < Test authority\) for \d+ days more\.$/,
      ),
      expect.stringMatching(
        /^note {2}removal {6}Removing the domain from the project stops its traffic at once\. Before that, add /,
      ),
      '4 ok, 0 warnings, 0 failed',
      '',
    ]);
    expect(code).toBe(0);
  });

  it.each([
    ['new.pets.test', ' has no record.', /CNAME, name new, value stores\.platform\.test, TTL 3600.*48 hours/],
    ['mail.pets.test', ' has no record.', /CNAME, name mail/],
    ['elsewhere.pets.test', ' is an alias of old.platform.test, not of', /^Change its value to stores/],
    ['taken.pets.test', ' (192.0.2.7) blocks the CNAME.', /^Delete it\. Create/],
    ['taken6.pets.test', ' (2001:db8::7) blocks', /^Delete it\. Create/],
    ['empty-apex.test', ' has no record.', /ALIAS or ANAME, name @, .*an apex cannot have a CNAME/],
    ['other-apex.test', ' (192.0.2.7) does not belong to', /^Delete it\. .*ALIAS/],
  ])('%s: %s', async (domain, says, fix) => {
    const { code, sick, first, found } = await examine(domain);
    expect({ code, sick, says: first?.says, fix: first?.fix }).toEqual({
      code: 13,
      sick: ['record: fail'],
      says: expect.stringContaining(`${domain}${says}`) as string,
      fix: expect.stringMatching(fix) as string,
    });
    expect(found.find(({ check }) => check === 'certificate')).toMatchObject({ health: 'skip' });
  });

  it('knows an ALIAS of an apex by its addresses', async () => {
    const connect = await serve(issueIdentity({ names: ['apex.test'] }));
    expect(await examine('apex.test', ['--connect', connect])).toMatchObject({ code: 0, sick: [] });
  });

  it('says when the target itself is wrong', async () => {
    const { first } = await examine('shop.pets.test', ['--target', 'gone.platform.test']);
    expect(first).toMatchObject({ check: 'record', says: 'The target gone.platform.test has no address.' });
  });

  const ALLOWED = [`--ca=${CA}`];
  it.each([
    ['shop.strict.test', ALLOWED, 'caa: fail', /allow only digicert\.com to issue, so letsencrypt\.org may not\./],
    ['shop.strict.test', [], 'caa: warn', /allow only digicert\.com to issue\./],
    ['shop.sealed.test', ALLOWED, 'caa: fail', /allow no authority at all to issue, so/],
    ['shop.sealed.test', [], 'caa: fail', /allow no authority at all to issue\./],
    ['shop.kind.test', ALLOWED, undefined, /of kind\.test allow only .* letsencrypt\.org among them\./],
    ['shop.wild.test', ALLOWED, undefined, /of wild\.test restrict no authority/],
    ['shop.near.test', ALLOWED, undefined, /of near\.test allow only letsencrypt\.org to issue, .* among them\./],
  ])('CAA of %s with %j: %s', async (domain, args, sick, says) => {
    const connect = await serve(issueIdentity({ names: [domain] }));
    const report = await examine(domain, [...args, '--connect', connect]);
    expect(report.sick).toEqual(sick === undefined ? [] : [sick]);
    expect(report.found.find(({ check }) => check === 'caa')?.says).toMatch(says);
  });

  const ours = { names: ['shop.pets.test'] };
  const theirs = { names: [TARGET] };
  it.each([
    ['expired', { ...ours, days: -1 }, 'fail', /expired on \d{4}-\d\d-\d\d: it was not renewed/],
    ['self-signed', { ...ours, selfSigned: true }, 'fail', /is self-signed/],
    ['of the platform alone', theirs, 'fail', /not for shop\.pets\.test, but for DNS:stores/],
    ['about to end', { ...ours, days: 5 }, 'warn', /5 days|4 days/],
  ])('a certificate that is %s', async (_what, identity, health, says) => {
    const connect = await serve(issueIdentity(identity));
    const { code, sick, first } = await examine('shop.pets.test', ['--connect', connect]);
    expect({ code, sick }).toEqual({ code: health === 'fail' ? 13 : 0, sick: [`certificate: ${health}`] });
    expect(first?.says).toMatch(says);
    if (health === 'fail') expect(first?.fix).toMatch(/2 minutes.*30 minutes.*click Re-verify/);
  });

  it('no certificate yet: says how long to wait; with CAA in the way, that this is why', async () => {
    const deadAddress = '127.0.0.1:1';
    const free = await examine('shop.pets.test', ['--connect', deadAddress]);
    expect(free.first).toMatchObject({
      says: 'shop.pets.test has no certificate yet: it does not answer TLS (ECONNREFUSED).',
      fix: expect.stringContaining('usually appears within 2 minutes') as string,
    });
    const blocked = await examine('shop.strict.test', ['--connect', deadAddress, '--ca', CA]);
    expect(blocked.sick).toEqual(['caa: fail', 'certificate: fail']);
    expect(blocked.found.find(({ check }) => check === 'certificate')?.fix).toBe(
      'No authority may issue it now: fix the CAA records first, then click Re-verify.',
    );
  });

  it.each([
    ['nobody.test', 'zone', 'DNS has no zone for nobody.test.', /registered/],
    ['shop.broken.test', 'dns', 'does not answer for shop.broken.test (ESERVFAIL).', /DNSSEC/],
    ['shop.pets.example', 'dns', 'does not answer for shop.pets.example (EREFUSED).', /--dns-server/],
  ])('%s: %s', async (domain, check, says, fix) => {
    const { code, first, sick } = await examine(domain);
    expect({ code, sick, says: first?.says, fix: first?.fix }).toEqual({
      code: 13,
      sick: [`${check}: fail`],
      says: expect.stringContaining(says) as string,
      fix: expect.stringMatching(fix) as string,
    });
  });

  describe('a redirect entry', () => {
    const entry = ['--redirect', 'from=www.pets.test,to=shop.pets.test,status=301'];
    const both = { names: ['shop.pets.test', 'www.pets.test'] };

    const RIGHT = 'https://shop.pets.test/';
    it.each([
      ['as it should be', { status: 301, location: RIGHT }, undefined],
      ['with another status', { status: 302, location: RIGHT }, 'answers with 302, not 301.'],
      ['to elsewhere', { status: 301, location: 'https://evil.test/' }, 'redirects to https://evil.test/, not to'],
      ['to nowhere', { status: 301 }, 'redirects to nowhere, not to shop.pets.test.'],
      ['to itself', { status: 301, location: '/shop' }, 'redirects to /shop, not to shop.pets.test.'],
      ['without a redirect', { status: 200 }, 'answers with 200, not 301.'],
    ])('%s', async (_what, answer, says) => {
      const connect = await serve(issueIdentity(both), answer);
      const { first } = await examine('shop.pets.test', ['--connect', connect, ...entry]);
      if (says === undefined) return expect(first).toBeUndefined();
      expect(first?.says).toContain(`www.pets.test ${says}`);
      expect(first?.fix).toContain('from www.pets.test, to shop.pets.test, status 301');
    });

    it('whose domain does not arrive', async () => {
      const connect = await serve(issueIdentity(both));
      const { sick, first } = await examine('shop.pets.test', [
        ...['--connect', connect],
        ...['--redirect', 'from=nowhere.pets.test,to=shop.pets.test,status=301'],
      ]);
      expect({ sick, says: first?.says }).toEqual({
        sick: ['redirect: fail'],
        says: 'nowhere.pets.test has no record.',
      });
    });
  });

  it('sends nothing to the service, and needs no key', async () => {
    const { stderr } = await run('shop.pets.test', ['--connect', '127.0.0.1:1', '--verbose']);
    expect(stderr).not.toMatch(/GET|key/);
  });
});
