/** The sandbox's page: what is in it, what it is asked, and switches for what goes wrong. */

interface Allowance {
  readonly limit: number;
  readonly used: number;
  readonly resetAt: string | null;
}

interface Key {
  readonly key: string;
  readonly minute: Allowance;
  readonly day: Allowance;
  readonly blockedUntil: string | null;
  readonly bannedUntil: string | null;
}

interface Rule {
  readonly text: string;
  readonly seen: number;
  readonly fired: number;
}

interface State {
  readonly baseUrl: string;
  readonly now: string;
  readonly skewMs: number;
  readonly pets: number;
  readonly keys: readonly Key[];
  readonly faults: readonly Rule[];
}

interface LoggedRequest {
  readonly id: number;
  readonly at: number;
  readonly method: string;
  readonly target: string;
  readonly status: number;
  readonly ms: number;
  readonly limit?: number;
  readonly remaining?: number;
  readonly faults?: readonly string[];
}

interface Pet {
  /** Text: a number of JavaScript would not hold it. */
  readonly petId: string;
  readonly quantity: number;
  readonly status: string;
}

const PRESETS: readonly { readonly says: string; readonly rule: string }[] = [
  { says: 'Every third request is too many (429, two seconds)', rule: 'status=429,retry-after=2,every=3' },
  { says: 'One in five fails (503)', rule: 'status=503,p=0.2' },
  { says: 'Answers take two seconds', rule: 'delay=2s' },
  { says: 'One in three updates is applied, its answer lost', rule: 'reset,after,method=PATCH,p=0.33' },
  { says: 'No rate-limit headers', rule: 'no-header=limits' },
];
const GONE = 'The sandbox does not answer; trying again.';
const PAGE = 100;
const SHOWN_REQUESTS = 200;

let rules: readonly Rule[] = [];
let pets = PAGE;
let newest = 0;

// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- as querySelector has it
function element<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`there is no #${id}`);
  return found as T;
}

function make(name: string, text = '', className = ''): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  if (className !== '') made.className = className;
  return made;
}

function say(text: string): void {
  element('said').textContent = text;
}

/** @throws {Error} with a sentence for people */
async function call(method: string, path: string, body?: unknown): Promise<string> {
  const response = await fetch(`/__sandbox${path}`, {
    method,
    ...(method !== 'GET' && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body ?? {}) }),
  });
  const text = await response.text();
  if (response.ok) return text;
  throw new Error((JSON.parse(text) as { message: string }).message);
}

/** Does it, and shows what came of it. */
function act(work: () => Promise<unknown>, done = ''): void {
  work()
    .then(() => {
      say(done);
      return refresh();
    })
    .catch((problem: unknown) => {
      say(problem instanceof TypeError ? GONE : (problem as Error).message);
    });
}

/** Of this machine's time zone; with the day, where it is not today's. Swedish writes 2026-11-21 13:04:05. */
function clock(at: string | number, today: Date = new Date()): string {
  const [day, time] = new Date(at).toLocaleString('sv-SE').split(' ');
  return day === today.toLocaleDateString('sv-SE') ? `${time}` : `${day} ${time}`;
}

function showAllowance(name: string, { limit, used, resetAt }: Allowance): HTMLElement {
  const left = Math.max(0, limit - used);
  const words = `${left} of ${limit} left this ${name}${resetAt === null ? '' : `, until ${clock(resetAt)}`}`;
  const meter = make('meter') as HTMLMeterElement;
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
  else if (blockedUntil !== null) row.append(make('span', ` told to wait until ${clock(blockedUntil)}`, 'poor'));
  row.append(showAllowance('minute', minute), showAllowance('day', day));
  return row;
}

function showRule({ text, seen, fired }: Rule): HTMLElement {
  const row = make('li');
  const remove = make('button', 'Remove');
  remove.setAttribute('aria-label', `Remove ${text}`);
  remove.addEventListener('click', () => {
    setRules(rules.map((rule) => rule.text).filter((each) => each !== text));
  });
  row.append(make('code', text), make('span', ` ${fired} of ${seen} requests `, 'faint'), remove);
  return row;
}

function setRules(texts: readonly string[]): void {
  act(() => call('PUT', '/faults', texts));
}

function showState(state: State): void {
  rules = state.faults;
  element('base-url').textContent = state.baseUrl;
  element('pets').textContent = ` · ${state.pets} pets`;
  const now = element<HTMLTimeElement>('now');
  now.textContent = new Date(state.now).toLocaleString('sv-SE');
  now.dateTime = state.now;
  element('keys').replaceChildren(...state.keys.map(showKey));
  element('rules').replaceChildren(...rules.map(showRule));
  for (const box of document.querySelectorAll<HTMLInputElement>('#presets input')) {
    box.checked = rules.some(({ text }) => text === box.value);
  }
  element('more').hidden = state.pets <= pets;
}

function statusCell({ status }: LoggedRequest): HTMLElement {
  if (status === 0) return make('td', 'reset', 'bad');
  return make('td', String(status), status < 400 ? 'good' : status === 429 || status >= 500 ? 'bad' : 'poor');
}

function showRequest(request: LoggedRequest): HTMLElement {
  const row = make('tr');
  const { at, method, target, ms, limit, remaining, faults = [] } = request;
  row.append(
    make('td', clock(at)),
    make('td', `${method} ${target}`),
    statusCell(request),
    make('td', ms.toFixed(1), 'number'),
    make('td', remaining === undefined ? '' : `${remaining}/${limit ?? '?'}`, 'number'),
    make('td', faults.join(', ')),
  );
  return row;
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
  const rows = list.map(({ petId, quantity, status }) => {
    const row = make('tr');
    row.append(make('td', petId, 'number'), make('td', String(quantity), 'number'), make('td', status));
    return row;
  });
  element('pet-rows').replaceChildren(...rows);
}

async function refresh(): Promise<void> {
  const [state, stock, requests] = await Promise.all([
    call('GET', '/state'),
    call('GET', `/pets?limit=${pets}`),
    call('GET', `/requests?after=${newest}`),
  ]);
  showState(JSON.parse(state) as State);
  showPets(JSON.parse(stock.replace(/"petId":(-?[0-9]+)/g, '"petId":"$1"')) as Pet[]);
  addRequests(JSON.parse(requests) as LoggedRequest[]);
}

/** At most four times a second, however many requests there are. What was said last stays said. */
function refreshSoon(): () => void {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    setTimeout(() => {
      waits = false;
      refresh().catch(() => {
        say(GONE);
      });
    }, 250);
  };
}

function listen(): void {
  const soon = refreshSoon();
  const events = new EventSource('/__sandbox/events');
  events.addEventListener('message', ({ data }: MessageEvent<string>) => {
    addRequests([JSON.parse(data) as LoggedRequest]);
    soon();
  });
  events.addEventListener('open', () => {
    if (element('said').textContent === GONE) say('');
    soon();
  });
  events.addEventListener('error', () => {
    say(GONE);
  });
}

function wire(): void {
  for (const { says, rule } of PRESETS) {
    const box = make('input') as HTMLInputElement;
    Object.assign(box, { type: 'checkbox', value: rule });
    box.addEventListener('change', () => {
      const others = rules.map(({ text }) => text).filter((text) => text !== rule);
      setRules(box.checked ? [...others, rule] : others);
    });
    const label = make('label');
    label.append(box, ` ${says}`);
    element('presets').append(label);
  }
  element('add-fault').addEventListener('submit', (event) => {
    event.preventDefault();
    const input = element<HTMLInputElement>('rule');
    const texts = [...rules.map(({ text }) => text), input.value];
    act(async () => {
      await call('PUT', '/faults', texts);
      input.value = '';
    });
  });
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-advance]')) {
    button.addEventListener('click', () => {
      const advance = button.dataset.advance ?? '';
      act(() => call('POST', '/clock', { advance }), `The sandbox's clock went ${advance} ahead.`);
    });
  }
  element('reset').addEventListener('click', () => {
    act(() => call('POST', '/reset'), 'Stock and allowances are as new.');
  });
  element('more').addEventListener('click', () => {
    pets += PAGE;
    act(() => Promise.resolve());
  });
}

wire();
listen();
act(() => Promise.resolve());
