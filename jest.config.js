/** Jest runs the TypeScript sources as native ES modules; swc only strips the types. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test', '<rootDir>/docs/examples'],
  testRegex: '\\.spec\\.ts$',
  // Other programs, and minutes: npm run test:lab, test:scale, test:broker.
  testPathIgnorePatterns: [
    '/node_modules/',
    '<rootDir>/test/lab/',
    '<rootDir>/test/scale/',
    '\\.broker\\.spec\\.ts$',
  ],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
        },
        module: { type: 'es6' },
      },
    ],
  },
  globalSetup: '<rootDir>/test/support/global-setup.js',
  globalTeardown: '<rootDir>/test/support/global-teardown.js',
  setupFiles: ['<rootDir>/test/support/seed.js'],
  testTimeout: 30_000,
  // Modules of finished files are never let go of (jest runs them in vm contexts): after a hundred files a process of 4 GB
  // mostly collected garbage, and was about to die of it. A worker makes room for a new one.
  workerIdleMemoryLimit: '1GB',
};
