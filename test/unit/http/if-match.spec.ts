import { hasSeen, parseIfMatch } from '../../../src/http/if-match.js';
import { Problem } from '../../../src/http/problem.js';

describe('If-Match', () => {
  it.each([
    ['"1"', ['"1"']],
    ['"1", "2"', ['"1"', '"2"']],
    [' "1" ,\t"2"', ['"1"', '"2"']],
    [', "1",, "2" ,', ['"1"', '"2"']],
    ['"a,b"', ['"a,b"']],
    ['""', ['""']],
    ['W/"1"', []],
    ['W/"1", "2"', ['"2"']],
    ['*', '*'],
    [' * ', '*'],
  ])('%s names %j: a weak tag never matches strongly [IF-1]', (header, versions) => {
    expect(parseIfMatch(header)).toEqual(versions);
  });

  it.each(['', '1', '"1', '1"', '"1" "2"', 'w/"1"', 'W/ "1"', '*, "1"', '"1", *', "'1'", '"\u0001"', ','])(
    'is refused where it is %j',
    (header) => {
      expect(() => parseIfMatch(header)).toThrow(Problem);
    },
  );

  it('takes a long list without getting slow', () => {
    expect(() => parseIfMatch(`${'"1" , '.repeat(20_000)}x`)).toThrow(Problem);
    expect(parseIfMatch(', '.repeat(20_000) + '"1"')).toEqual(['"1"']);
  });

  it('compares byte for byte [IF-1]', () => {
    expect(hasSeen(['"1"'], '"1"')).toBe(true);
    expect(hasSeen(['"1"'], '"11"')).toBe(false);
    expect(hasSeen([], '"1"')).toBe(false);
    expect(hasSeen('*', '"7"')).toBe(true);
  });
});
