/** Checks every state within bounds, not only random ones. `npm run simulate -- every-state --faults 1` tries more. */
import { describe, expect, it } from 'vitest';
import { type Bounds, GOVERNOR, type Governor, SCENARIOS, search } from './every-state.ts';

const TWO = { ...SCENARIOS['two processes']!, faults: 1 };

/** What is violated, and the steps to it. */
function violated(bounds: Bounds, governor?: Governor) {
  const { states, transitions, violation } = search(bounds, governor);
  if (violation === undefined) process.stdout.write(`${states} states, ${transitions} transitions\n`);
  return violation && { what: violation.what, path: violation.path.map(({ name }) => name) };
}

describe('nothing leaves inside a wait, and none is stuck', () => {
  it.each(Object.entries(SCENARIOS))(
    '%s',
    (_name, bounds) => {
      expect(violated(bounds)).toBeUndefined();
    },
    300_000,
  );
});

describe('the search finds a governor that', () => {
  const { decide, observe } = GOVERNOR;

  it('ignores a block: by the shortest way', () => {
    const found = violated(TWO, {
      ...GOVERNOR,
      decide: ({ block: _ignored, ...state }, now, intent) => decide(state, now, intent),
    });
    expect(found).toEqual({
      what: 'leave is given inside a block of the ledger',
      path: [
        'A gets leave to GET',
        'A writes its request',
        "A's request arrives: 403",
        'A reads its answer',
        'a tick passes',
        'A gets leave to GET',
      ],
    });
  });

  it.each<readonly [string, string, Bounds, Partial<Governor>]>([
    [
      'ends a block early',
      'inside a wait',
      TWO,
      {
        observe: (...args) => {
          const { block, ...state } = observe(...args);
          return { ...state, ...(block && { block: { ...block, until: block.until - 60_000 } }) };
        },
      },
    ],
    [
      'forgets the probe',
      'a second probe',
      TWO,
      {
        decide(...args) {
          const { state, ...decision } = decide(...args);
          const inFlight = state.inFlight.map(({ isProbe: _forgotten, ...rest }) => rest);
          return { state: { ...state, inFlight }, ...decision };
        },
      },
    ],
    [
      'believes what an older answer says is left',
      'has grown',
      { ...TWO, limit: 5 },
      {
        observe(before, now, answer) {
          const after = observe(before, now, answer);
          const remaining = answer.headers.window?.remaining;
          return remaining === undefined
            ? after
            : { ...after, windows: after.windows.map((each) => ({ ...each, remaining })) };
        },
      },
    ],
    [
      'does not count what is under way',
      'refused although alone',
      { ...TWO, limit: 3 },
      {
        decide: (before, now, intent) => {
          const isProbed =
            before.inFlight.some(({ isProbe }) => isProbe) || before.block !== undefined || before.windows.length === 0;
          return decide(isProbed ? before : { ...before, inFlight: [] }, now, intent);
        },
      },
    ],
    [
      'waits for ever for an answer',
      'stuck',
      TWO,
      {
        decide: (...args) => {
          const { state, ...decision } = decide(...args);
          const inFlight = state.inFlight.map((each) => ({ ...each, lostAt: Infinity }));
          return { state: { ...state, inFlight }, ...decision };
        },
      },
    ],
    ['writes with leave from before a refusal', 'leave from before', TWO, { isFresh: () => true }],
  ])('%s', (_name, what, bounds, changed) => {
    expect(violated(bounds, { ...GOVERNOR, ...changed })?.what).toContain(what);
  });
});
