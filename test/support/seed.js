import fc from 'fast-check';

/**
 * Each run tries other values, and a failure prints the seed that brings it back: SEED=… runs it again. CI sets one, so
 * that a change is judged by what it changes.
 */
if (process.env['SEED']) fc.configureGlobal({ seed: Number(process.env['SEED']) });
