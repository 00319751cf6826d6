import config from './jest.config.js';

process.env.THOROUGH = 'on'; // read by test/support/thoroughly.ts; whatever jest starts inherits it

/** What takes minutes: every fault point in every mode, and long random schedules. */
export default {
  ...config,
  roots: ['<rootDir>/test/faults', '<rootDir>/test/properties'],
};
