import config from './jest.config.js';

/** Events over a real RabbitMQ, which takes seconds to start, and is killed. */
export default {
  ...config,
  roots: ['<rootDir>/test/broker', '<rootDir>/docs/examples'],
  testRegex: '\\.broker\\.spec\\.ts$',
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 90_000,
};
