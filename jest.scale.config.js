import config from './jest.config.js';

/**
 * More than one machine: processes behind nginx and PgBouncer, a database that fails over, two builds. Minutes, and programs that
 * Node does not bring: where one is missing, its tests are skipped and say so.
 */
export default {
  ...config,
  roots: ['<rootDir>/test/scale'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 600_000, // processes are started again and again, on machines that may be busy
};
