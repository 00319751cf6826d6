import { randomBytes } from 'node:crypto';

/**
 * A new key: `ck_live_` or `ck_test_`, and 40 random digits and letters. Six of them are shown to tell keys apart; the
 * other 34 are 170 bits and more, which nobody guesses.
 */
export function newApiKey(kind: 'live' | 'test'): string {
  const word = Array.from({ length: WORD }, () => ALPHABET[randomBytes(1)[0]! % ALPHABET.length]);
  return `ck_${kind}_${word.join('')}`;
}

/** 32 of them, so that every byte is worth five bits, without those that people mix up (0 and o, 1 and l). */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
const WORD = 40;

/** `ck_live_` or `ck_test_` says which kind of key it was, and the six behind it which one. */
const MADE_HERE = new RegExp(`^ck_(?:live|test)_[${ALPHABET}]{6}(?=[${ALPHABET}]{${WORD - 6}}$)`);

/** Of a key from elsewhere too little may be random to show any of it. */
const OTHERS_SHOWN = 8;

/** What may be stored and shown of a key for people to tell it by. */
export function prefixOf(key: string): string {
  return MADE_HERE.exec(key)?.[0] ?? key.slice(0, OTHERS_SHOWN);
}
