import config from './jest.config.js';

process.env.PARTITIONS = '8'; // read by test/support/global-setup.js

/**
 * The suites with every table of a tenant in eight partitions, as it would be in eight shards; and each statement that
 * the service sends is held to meet one of them.
 */
export default {
  ...config,
  roots: ['<rootDir>/test/e2e', '<rootDir>/test/properties'],
  testPathIgnorePatterns: [
    ...config.testPathIgnorePatterns,
    '/(database-scripts|distribute|migrations-at-once|sandbox|lab-history|mailbox)\\.spec\\.ts$', // databases of their own, or none
    '/(mock-provider.*|postman.*|stripe-test-mode|alerts)\\.spec\\.ts$', // send no statement, or none that others do not
    '/(plans|hot-updates)\\.spec\\.ts$', // count in the statistics of a table, which its partitions keep
  ],
  reporters: ['default', '<rootDir>/test/partitioned/one-shard.reporter.js'],
};
