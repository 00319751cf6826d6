import config from './jest.config.js';

/** What needs a server of its own that a machine may not have: its test says skipped there. */
export default {
  ...config,
  roots: ['<rootDir>/test/scale'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 90_000,
};
