import config from './jest.config.js';

/** The lab in a real browser, over a whole sandbox that brings its own PostgreSQL. Every scenario takes its time. */
export default {
  ...config,
  globalSetup: undefined,
  globalTeardown: undefined,
  roots: ['<rootDir>/test/lab'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 90_000,
};
