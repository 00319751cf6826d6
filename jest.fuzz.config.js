import config from './jest.config.js';

process.env.THOROUGH = 'on'; // read by test/support/thoroughly.ts; whatever jest starts inherits it

/** What takes minutes: hostile requests by the ten thousand, and how long answers take that must tell nothing. */
export default {
  ...config,
  roots: ['<rootDir>/test/fuzz'],
};
