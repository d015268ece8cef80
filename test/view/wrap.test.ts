import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wrapLine } from '../../src/view/width.ts';

describe('a long line', () => {
  it.each([
    ['short', 20, 6, 'short'],
    ['ok    a b c d e f g h i j k l m n o p q r', 36, 6, 'ok    a b c d e f g h i j k l m n o\n      p q r'],
    ['      Fix: do this, and then that, and more', 36, 6, '      Fix: do this, and then that,\n      and more'],
    ['FAIL  a-very-long-name  says something', 24, 24, 'FAIL  a-very-long-name\n  says something'],
    ['Type to search. Enter', 20, 0, 'Type to search.\nEnter'],
    ['ok    one-word-that-is-longer-than-the-line', 32, 6, 'ok    one-word-that-is-longer-than-the-line'],
    ['base-url    one-word-that-is-longer-than-it', 32, 12, 'base-url\n  one-word-that-is-longer-than-it'],
  ])('%j in %i columns', (line, width, margin, wrapped) => {
    expect(wrapLine(line, width, margin)).toBe(wrapped);
  });

  it('loses no word, and is wider than asked for only by one word', () => {
    const line = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { maxLength: 30 }).map((words) => words.join(' '));
    fc.assert(
      fc.property(line, fc.integer({ min: 10, max: 120 }), fc.integer({ min: 0, max: 20 }), (text, width, margin) => {
        const given = `${' '.repeat(margin)}${text}`;
        const wrapped = wrapLine(given, width, margin);
        expect(wrapped.split(/\s+/).join(' ').trim()).toBe(text.trim());
        for (const each of wrapped.split('\n')) {
          expect(each.length <= width || !each.trim().includes(' ')).toBe(true);
        }
      }),
    );
  });
});
