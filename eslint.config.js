import eslint from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** `src` has one reader of the environment, and the programs that start others, which must hand it on. */
const MAY_READ_ENVIRONMENT = ['src/config/**', 'src/sandbox/**', 'src/database/cli/**'];

const ENVIRONMENT = {
  object: 'process',
  property: 'env',
  message: 'Inject Config: it is checked and typed.',
};

/** CLDR knows other minor units than the payment provider: IQD 0 instead of 3, MGA 0 instead of 2. */
const NUMBER_FORMAT = {
  object: 'Intl',
  property: 'NumberFormat',
  message: "Amounts follow the provider's exponents.",
};

const LENGTH = {
  name: 'class-validator',
  importNames: ['Length', 'MaxLength'],
  message: 'Count as the database does: src/http/length.validator.ts.',
};

/** Programs for a terminal; the service itself writes its log through the logger, which redacts secrets. */
const MAY_PRINT = ['src/sandbox/**', 'src/{database,tenancy}/cli/**', 'src/main.ts'];

const readonly = (...names) => Object.fromEntries(names.map((name) => [name, 'readonly']));

export default defineConfig(
  { ignores: ['dist/', 'coverage/', '.data/', 'src/client/api.ts'] }, // the last is generated
  eslint.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked, tseslint.configs.stylistic],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // A promise that nobody awaits is an error that nobody sees, and work that outlives its transaction.
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      // A new outcome, status or action must be answered everywhere before it compiles.
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/only-throw-error': 'error',
      // Nest's modules and a record of types alone are classes and interfaces by need.
      '@typescript-eslint/no-extraneous-class': 'off',
      // `async` says that a function may one day wait; an interface often asks for it.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Bytes are compared with their names.
      '@typescript-eslint/no-unsafe-enum-comparison': 'off',
      '@typescript-eslint/consistent-type-definitions': 'off',
      eqeqeq: 'error',
    },
  },
  {
    files: ['src/**/*.ts', 'docs/examples/**/*.ts'],
    rules: {
      // Small enough to be read at one sitting: a file has one subject, a function one thought.
      'max-lines': ['error', { max: 220, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'max-depth': ['error', 3],
      'max-params': ['error', 6],
      complexity: ['error', 12],
      '@typescript-eslint/no-explicit-any': 'error',
      'no-restricted-properties': ['error', NUMBER_FORMAT],
      'no-restricted-imports': ['error', { paths: [LENGTH] }],
    },
  },
  {
    files: ['src/**/*.ts', 'docs/examples/**/*.ts'],
    ignores: MAY_READ_ENVIRONMENT,
    rules: { 'no-restricted-properties': ['error', NUMBER_FORMAT, ENVIRONMENT] },
  },
  { files: ['src/**/*.ts'], ignores: MAY_PRINT, rules: { 'no-console': 'error' } },
  {
    // A suite is one long callback, and what comes back over HTTP has no type.
    files: ['test/**/*.ts', 'docs/examples/**/*.spec.ts'],
    rules: {
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    files: ['**/*.{js,mjs,cjs}'],
    languageOptions: {
      globals: readonly(
        'process',
        'console',
        'URL',
        'fetch',
        'setTimeout',
        'clearTimeout',
        'globalThis',
        'Buffer',
        'AbortSignal',
      ),
    },
  },
  {
    files: ['src/sandbox/lab/page/*.js'],
    languageOptions: {
      globals: readonly(
        'document',
        'location',
        'history',
        'navigator',
        'performance',
        'matchMedia',
        'addEventListener',
        'setInterval',
        'EventSource',
        'FormData',
        'URLSearchParams',
      ),
    },
  },
);
