/** The sandbox's page: shows stock, usage and requests, and switches faults on and off. */

import type { State } from '../control.ts';
import type { LoggedRequest } from '../serve-request.ts';

type Key = State['keys'][number];
type Fault = State['faults'][number];

interface Pet {
  /** Text, because a JavaScript number cannot hold it. */
  readonly petId: string;
  readonly quantity: number;
  readonly status: string;
  /** Empty without one. */
  readonly name: string;
}

const PRESETS: readonly { readonly says: string; readonly rule: string }[] = [
  { says: 'Every third request is too many (429, two seconds)', rule: 'status=429,retry-after=2,every=3' },
  { says: 'One in five fails (503)', rule: 'status=503,p=0.2' },
  { says: 'Answers take two seconds', rule: 'delay=2s' },
  { says: 'One in three updates is applied, its answer lost', rule: 'reset,after,method=PATCH,p=0.33' },
  { says: 'No rate-limit headers', rule: 'no-header=limits' },
];
const GONE = 'The sandbox does not answer; trying again.';
/** As many as the control lists. */
const SHOWN_PETS = 100;
const SHOWN_REQUESTS = 200;

const REFRESH_MS = 1_000;

let newest = 0;
/** The user's actions and the page's refreshes, one after another. */
let queue: Promise<void> = Promise.resolve();
/** Number of actions that have not been carried out. */
let actions = 0;

// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- as querySelector has it
function element<T extends HTMLElement>(id: string): T {
  const found = document.querySelector<T>(`#${id}`);
  if (found === null) throw new Error(`#${id} is missing`);
  return found;
}

function make<K extends keyof HTMLElementTagNameMap>(name: K, text = '', className = ''): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  made.textContent = text;
  if (className !== '') made.className = className;
  return made;
}

function say(text: string): void {
  element('message').textContent = text;
}

/** Calls a control and returns its answer, unchecked: sandbox and page are one program. @throws {Error} for people */
async function call(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`/__sandbox${path}`, {
    method,
    ...(method !== 'GET' && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body ?? {}) }),
  });
  const text = await response.text();
  const answer: unknown = JSON.parse(text.replace(/"petId":(-?[0-9]+)/g, '"petId":"$1"'));
  if (response.ok) return answer;
  throw new Error((answer as { readonly message: string }).message);
}

/** Queues an action, shows its result, and refreshes the page. */
function act(work: () => Promise<unknown>, done = ''): void {
  actions += 1;
  queue = queue
    .then(work)
    .then(() => {
      say(done);
    })
    .catch(sayProblem)
    .finally(() => {
      actions -= 1;
    })
    .then(refresh);
}

function sayProblem(problem: unknown): void {
  say(problem instanceof TypeError ? GONE : String(problem instanceof Error ? problem.message : problem));
}

/** Formats a local time, with the day if it is not today. The Swedish format is 2026-11-21 13:04:05. */
function clock(at: string | number, today: Date = new Date()): string {
  const [day, time] = new Date(at).toLocaleString('sv-SE').split(' ');
  return day === today.toLocaleDateString('sv-SE') ? `${time}` : `${day} ${time}`;
}

function showAllowance(name: string, { limit, used, resetAt }: Key['minute']): HTMLElement {
  const left = Math.max(0, limit - used);
  const words = `${left} of ${limit} left this ${name}${resetAt === null ? '' : `, until ${clock(resetAt)}`}`;
  const meter = make('meter');
  Object.assign(meter, { min: 0, max: Math.max(1, limit), low: limit * 0.25, high: limit * 0.5, optimum: limit });
  meter.value = left;
  const label = make('label', words);
  label.append(meter);
  return label;
}

function showKey({ key, minute, day, blockedUntil, bannedUntil }: Key): HTMLElement {
  const row = make('li');
  row.append(make('code', key));
  if (bannedUntil !== null) row.append(make('span', ` banned until ${clock(bannedUntil)}`, 'bad'));
  else if (blockedUntil !== null) row.append(make('span', ` must wait until ${clock(blockedUntil)}`, 'poor'));
  row.append(showAllowance('minute', minute), showAllowance('day', day));
  return row;
}

function showRule({ text, seen, fired }: Fault): HTMLElement {
  const row = make('li');
  const remove = make('button', 'Remove');
  remove.setAttribute('aria-label', `Remove ${text}`);
  remove.addEventListener('click', () => {
    changeRules((texts) => texts.filter((each) => each !== text));
  });
  row.append(make('code', text), make('span', ` ${fired} of ${seen} requests `, 'faint'), remove);
  return row;
}

/** Changes the sandbox's current rules: the ones shown may be older than the last click, here or on another page. */
function changeRules(change: (texts: readonly string[]) => readonly string[], after?: () => void): void {
  act(async () => {
    const now = (await call('GET', '/faults')) as Fault[];
    await call('PUT', '/faults', change(now.map(({ text }) => text)));
    after?.();
  });
}

function showState(state: State): void {
  element('base-url').textContent = state.baseUrl;
  element('pets').textContent = ` · ${state.pets} pets`;
  const now = element<HTMLTimeElement>('now');
  now.textContent = new Date(state.now).toLocaleString('sv-SE');
  now.dateTime = state.now;
  element('keys').replaceChildren(...state.keys.map(showKey));
  element('rules').replaceChildren(...state.faults.map(showRule));
  for (const box of document.querySelectorAll<HTMLInputElement>('#presets input')) {
    box.checked = state.faults.some(({ text }) => text === box.value);
  }
  element('more').hidden = state.pets <= SHOWN_PETS;
}

function tableRow(...cells: readonly (readonly [text: string, className?: string])[]): HTMLElement {
  const row = make('tr');
  row.append(...cells.map(([text, className]) => make('td', text, className)));
  return row;
}

function statusClass(status: number): string {
  if (status === 0 || status === 429 || status >= 500) return 'bad';
  return status < 400 ? 'good' : 'poor';
}

function showRequest(request: LoggedRequest): HTMLElement {
  const { at, method, target, status, ms, limit, remaining } = request;
  return tableRow(
    [clock(at)],
    [`${method} ${target}`],
    [status === 0 ? 'reset' : String(status), statusClass(status)],
    [ms.toFixed(1), 'number'],
    [remaining === undefined ? '' : `${remaining}/${limit ?? '?'}`, 'number'],
    [whyOf(request), 'why'],
  );
}

function whyOf({ reason, retryAfter, faults = [] }: LoggedRequest): string {
  const wait = retryAfter === undefined ? [] : [`(Retry-After: ${retryAfter})`];
  const why = faults.length > 0 ? `fault: ${faults.join(', ')}` : reason;
  return [why ?? [], wait].flat().join(' ');
}

function addRequests(requests: readonly LoggedRequest[]): void {
  const body = element('requests');
  for (const request of requests) {
    if (request.id <= newest) continue;
    newest = request.id;
    body.prepend(showRequest(request));
  }
  while (body.children.length > SHOWN_REQUESTS) body.lastElementChild?.remove();
}

function showPets(list: readonly Pet[]): void {
  const rows = list.map(({ petId, quantity, status, name }) =>
    tableRow(
      [petId, 'number'],
      [name],
      [String(quantity), quantity === 0 ? 'number bad' : 'number'],
      [status, status === 'available' ? '' : 'faint'],
    ),
  );
  element('pet-rows').replaceChildren(...rows);
}

async function refresh(): Promise<void> {
  try {
    const state = (await call('GET', '/state')) as State;
    // Older than a click that waits, whose switch it would turn back.
    if (actions === 0) showState(state);
    showPets((await call('GET', '/pets')) as Pet[]);
    addRequests((await call('GET', `/requests?after=${newest}`)) as LoggedRequest[]);
    if (element('message').textContent === GONE) say('');
  } catch (problem) {
    sayProblem(problem);
  }
}

async function refreshForEver(): Promise<void> {
  await (queue = queue.then(refresh));
  setTimeout(() => void refreshForEver(), REFRESH_MS);
}

function wire(): void {
  for (const { says, rule } of PRESETS) {
    const box = make('input');
    Object.assign(box, { type: 'checkbox', value: rule });
    box.addEventListener('change', () => {
      const wanted = box.checked;
      changeRules((texts) => [...texts.filter((text) => text !== rule), ...(wanted ? [rule] : [])]);
    });
    const label = make('label');
    label.append(box, ` ${says}`);
    element('presets').append(label);
  }
  element('add-fault').addEventListener('submit', (event) => {
    event.preventDefault();
    const input = element<HTMLInputElement>('rule');
    const added = input.value;
    changeRules(
      (texts) => [...texts, added],
      () => {
        input.value = '';
      },
    );
  });
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-advance]')) {
    button.addEventListener('click', () => {
      const advance = button.dataset.advance ?? '';
      act(() => call('POST', '/clock', { advance }), `The sandbox's clock went ${advance} ahead.`);
    });
  }
  element('reset').addEventListener('click', () => {
    act(() => call('POST', '/reset'), 'The sandbox has been reset.');
  });
}

wire();
void refreshForEver();
