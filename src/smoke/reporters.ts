/** Renders checks as text, JUnit XML, TAP, JSON and GitHub annotations. */
import { jsonObject, stringifyJson } from '../api/json.ts';
import { visible } from '../view/words.ts';
import type { Reply } from '../client/raw.ts';
import type { Checked } from './finding.ts';
import { LIMITS } from './read-checks.ts';

export interface Suite {
  readonly name: string;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly checks: readonly Checked[];
}

export const REPORTERS = { text, junit, tap, json, github, markdown };
export type ReportFormat = keyof typeof REPORTERS;

/**
 * Returns the problem with all text of the service made visible. JSON and TAP's YAML escape control characters
 * themselves, so readers get the exact text.
 */
function shown({ problem = '' }: Checked): string {
  return visible(problem);
}

function tally(checks: readonly Checked[]): Readonly<Record<'passed' | 'failed' | 'skipped', number>> {
  const count = (verdict: Checked['verdict']): number => checks.filter((each) => each.verdict === verdict).length;
  return { passed: count('pass'), failed: count('fail'), skipped: count('skip') };
}

const VERDICT_WORDS = { pass: 'ok  ', fail: 'FAIL', skip: 'skip' } as const;

/** Returns the text of a check. A title states success, so it is shown only for a check that passed. */
function result(check: Checked): string {
  if (check.verdict === 'pass') return check.title;
  return check.verdict === 'skip' ? `not checked: ${shown(check)}` : shown(check);
}

function place(clause: string | undefined): string {
  return clause === undefined ? '' : `docs/service.md, part ${clause}`;
}

/** Returns the column where the sentences of a text begin. */
export function marginOf(checks: readonly Checked[]): number {
  return 'FAIL  '.length + Math.max(0, ...checks.map(({ id }) => id.length)) + 2;
}

function text({ checks }: Suite): string {
  const width = marginOf(checks);
  const lines = checks.flatMap((check) => {
    const line = `${VERDICT_WORDS[check.verdict]}  ${check.id}`.padEnd(width) + result(check);
    const where = [check.reply?.request, place(check.clause)].filter(Boolean).join('; ');
    return check.verdict === 'fail' && where !== '' ? [line, `      ${where}`] : [line];
  });
  const { passed, failed, skipped } = tally(checks);
  return [...lines, `${passed} passed, ${failed} failed, ${skipped} skipped`, ''].join('\n');
}

/** JUnit XML as Ant writes it, which Jenkins, GitLab and others read. */
function junit({ name, startedAt, checks }: Suite): string {
  const { failed, skipped } = tally(checks);
  const errors = checks.filter(({ isError }) => isError).length;
  const seconds = (ms: number): string => (ms / 1_000).toFixed(3);
  const total = seconds(checks.reduce((sum, { reply }) => sum + (reply?.ms ?? 0), 0));
  const cases = checks.map((check) => {
    const title = `${check.id}: ${check.title}`;
    return `    <testcase classname="${xml(name)}" name="${xml(title)}" time="${seconds(check.reply?.ms ?? 0)}">${junitResult(check)}</testcase>`;
  });
  const stamp = new Date(startedAt).toISOString().slice(0, 19);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite name="${xml(name)}" package="petstore" id="0" tests="${checks.length}" failures="${failed - errors}" errors="${errors}" skipped="${skipped}" time="${total}" timestamp="${stamp}" hostname="localhost">`,
    '    <properties/>',
    ...cases,
    '    <system-out/>',
    '    <system-err/>',
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function junitResult(check: Checked): string {
  const { verdict, clause, reply, isError } = check;
  const message = `message="${xml(shown(check))}"`;
  if (verdict === 'pass') return '';
  if (verdict === 'skip') return `<skipped ${message}/>`;
  const facts = reply === undefined ? '' : evidenceText(reply);
  if (isError) return `<error ${message} type="environment">${xml(facts)}</error>`;
  return `<failure ${message} type="contract">${xml([place(clause), facts].filter(Boolean).join('\n'))}</failure>`;
}

/** Headers that checks are about; never the key. */
const EVIDENCE = ['content-type', 'date', 'location', 'retry-after', ...LIMITS.map((name) => name.toLowerCase())];

function evidenceIn(headers: Reply['headers'] = new Map()): [name: string, value: string][] {
  return EVIDENCE.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)!.join(', ')]] : []));
}

function evidenceText({ headers, request, status }: Reply): string {
  const lines = evidenceIn(headers).map(([name, value]) => `${name}: ${visible(value)}`);
  return [request, ...(status === undefined ? [] : [`status ${status}`]), ...lines].join('\n');
}

/** Escapes a text for XML 1.0, and replaces what it cannot represent. */
function xml(value: string): string {
  return value
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/[&<>"]/g, (each) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[each] ?? each)
    .replace(/\n/g, '&#10;');
}

/** TAP version 14 (testanything.org). */
function tap({ checks }: Suite): string {
  const lines = checks.flatMap(({ id, title, verdict, problem = '', clause, reply }, i) => {
    const name = escaped(`${id}: ${title}`);
    const point = `${verdict === 'fail' ? 'not ok' : 'ok'} ${i + 1} - ${name}`;
    if (verdict === 'skip') return [`${point} # SKIP ${escaped(visible(problem))}`];
    if (verdict === 'pass') return [point];
    const facts = { message: problem, severity: 'fail', contract: place(clause), request: reply?.request ?? '' };
    // A double-quoted scalar (YAML 1.2, 7.3.1) is written as in JSON.
    const diagnosis = Object.entries(facts).map(([key, value]) => `  ${key}: ${stringifyJson(value)}`);
    return [point, '  ---', ...diagnosis, '  ...'];
  });
  return ['TAP version 14', `1..${checks.length}`, ...lines, ''].join('\n');
}

function escaped(value: string): string {
  return value.replace(/[\\#]/g, '\\$&').replace(/\s+/g, ' ');
}

function json({ name, startedAt, checks }: Suite): string {
  const rows = checks.map(({ id, title, clause, verdict, problem = null, reply }) =>
    jsonObject({
      id,
      title,
      contract: place(clause) || null,
      verdict,
      problem,
      ms: Math.round(reply?.ms ?? 0),
      request: reply?.request ?? null,
      status: reply?.status ?? null,
      headers: new Map(evidenceIn(reply?.headers)),
    }),
  );
  const suite = { suite: name, startedAt: new Date(startedAt).toISOString(), ...tally(checks), checks: rows };
  return `${stringifyJson(jsonObject(suite))}\n`;
}

/** Workflow commands: one annotation for each failure, and the text for the log. Only text of the service is escaped. */
function github(suite: Suite): string {
  const lines = suite.checks
    .filter(({ verdict }) => verdict === 'fail')
    .map((check) => {
      const problem = [check.reply?.request, shown(check).replaceAll('%', '%25')].filter(Boolean).join(': ');
      return `::error title=${suite.name} ${check.id}::${problem}\n`;
    });
  return `${lines.join('')}${text(suite)}`;
}

/** Renders a Markdown table for the summary page of a GitHub job. */
function markdown({ name, checks }: Suite): string {
  const cell = (value: string): string => value.replace(/[\\|<>`*_[\]]/g, '\\$&').replace(/\s+/g, ' ');
  const rows = checks.map(
    (check) => `| ${VERDICT_WORDS[check.verdict].trim()} | ${check.id} | ${cell(result(check))} |`,
  );
  const { passed, failed, skipped } = tally(checks);
  return [
    `### ${cell(name)}: ${passed} passed, ${failed} failed, ${skipped} skipped`,
    '',
    '| | Check | Result |',
    '| --- | --- | --- |',
    ...rows,
    '',
    '',
  ].join('\n');
}
