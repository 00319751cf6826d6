import config from './jest.config.js';

process.env.TEST_CLUSTER_URL = process.env.CITUS_URL ?? ''; // read by test/support/global-setup.js

/** Tests of what is not the same there, by words of their names. */
const LEFT_OUT = [
  'finds what it deletes by indexes alone', // reads the plans, in the words that are for one server
  'is not lost where its process is killed before it is carried out', // a trigger on a tenant's table
  'that could not be carried out at once is so by', // the same
  'for a lock that is not let go of in time', // whoever reads a reference table reads a copy, which LOCK TABLE does not lock
  'is a replay, which neither writes nor locks', // the claim finds the key there, and waits for its lock
  'the migration is not taken back while a row is sealed', // Citus refuses what asks, and so the migration stays too
];

/** The suites with every table of a tenant in shards, on the servers of the Citus cluster whose coordinator CITUS_URL names. */
export default {
  ...config,
  testNamePattern: `^(?!.*(${LEFT_OUT.join('|')}))`,
  roots: ['<rootDir>/test/e2e', '<rootDir>/test/properties'],
  testPathIgnorePatterns: [
    ...config.testPathIgnorePatterns,
    '/(database-scripts|distribute|migrations-at-once|sandbox|lab-history|mailbox|commits)\\.spec\\.ts$', // databases of their own, or none
    '/(mock-provider.*|postman.*|stripe-test-mode|alerts)\\.spec\\.ts$', // send no statement, or none that others do not
    '/(plans|hot-updates)\\.spec\\.ts$', // count in the statistics of a table, which its shards keep
    '/row-security\\.spec\\.ts$', // the service runs as the owner there
  ],
};
