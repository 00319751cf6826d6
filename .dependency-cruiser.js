/**
 * Imports run one way:
 *
 *   main, app.module → operator → erasure, webhooks, checkout, keys → orders, charges, refunds → the engine, payments, outbox, ledger, a receipt's or an event's message
 *                    → tenancy → limits → background, database, http → metrics → config
 *
 * One rule per direction, each with the reason for it. `npm run check:imports` fails on the first import that
 * runs the other way.
 */
const CONSUMERS = 'operator|erasure|checkout|keys|webhooks|orders|charges|refunds';
const PARTS = 'idempotency|payments|outbox|inbox|ledger|receipts|events';

/** `only('ledger', ['database'])`: src/ledger may import itself and src/database, and nothing else of ours. */
const only = (name, from, to) => ({
  from: { path: `^src/(${from})/` },
  to: { path: '^src/', pathNot: `^src/(${[from, ...to].join('|')})/` },
  name,
  severity: 'error',
});

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-circular',
      comment: 'Two files that need each other are one file, or hide a third. Types alone may look back.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      ...only('config-imports-nothing', 'config', []),
      comment: 'Everything reads the configuration; it can depend on nothing that does.',
    },
    {
      ...only('metrics-know-no-room', 'metrics', ['config']),
      comment: 'Every room counts its own; what is counted is none of its business.',
    },
    {
      name: 'metrics-only-by-their-room',
      comment:
        'The library that counts could be another: rooms name what they count, and read as if there were none.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/metrics/' },
      to: { path: '^node_modules/prom-client/' },
    },
    {
      ...only('database-knows-no-tenant', 'database', ['metrics', 'config']),
      comment: 'Transactions and migrations are the ground that all else stands on.',
    },
    {
      ...only('background-knows-no-job', 'background', ['metrics', 'database', 'config']),
      comment:
        'How a loop starts, stops and wakes is the same for every job; so is how rows go that have served: their rooms name them.',
    },
    {
      ...only('http-knows-no-route', 'http', ['metrics', 'database', 'config']),
      comment: 'Problems, parsing, paging and health serve every route, so they name none.',
    },
    {
      ...only('limits-know-no-tenant', 'limits', ['http', 'metrics', 'database', 'config']),
      comment: 'How many requests there may be is asked about a name, whosever it is.',
    },
    {
      ...only('tenancy-knows-no-route', 'tenancy', ['limits', 'http', 'database', 'config']),
      comment: 'Who is asking is settled before what is asked.',
    },
    {
      ...only('the-engine-knows-no-consumer', 'idempotency', [
        'tenancy',
        'background',
        'http',
        'metrics',
        'database',
        'config',
      ]),
      comment:
        'The engine runs any operation: no checkout, no payment, no mail in it. That is what lets it be read, tested and reused alone.',
    },
    {
      ...only('ledger-stands-alone', 'ledger', ['database', 'config']),
      comment: 'Bookkeeping must stay checkable without the code whose books it keeps.',
    },
    {
      ...only('outbox-knows-no-message', 'outbox', ['background', 'metrics', 'database', 'config']),
      comment: 'It carries messages of any topic; who handles one is registered from outside.',
    },
    {
      ...only('inbox-knows-no-message', 'inbox', ['background', 'metrics', 'database', 'config']),
      comment: 'It stores what was received; what a message means is the matter of its consumer.',
    },
    {
      name: 'parts-know-no-consumer',
      comment:
        'Payments, outbox, ledger and receipts serve the routes. The other way round, no route could change alone.',
      severity: 'error',
      from: { path: `^src/(${PARTS})/` },
      to: { path: `^src/(${CONSUMERS})/` },
    },
    {
      name: 'receipts-and-events-only-by-message',
      comment:
        'A route stages a message and is done. Were it to reach the mailer or the broker, a slow one would slow a checkout.',
      severity: 'error',
      from: { path: `^src/(${CONSUMERS}|idempotency|payments|outbox|ledger)/` },
      to: { path: '^src/(receipts|events)/', pathNot: '^src/(receipts|events)/[^/]*message\\.ts$' },
    },
    {
      name: 'provider-only-by-port',
      comment:
        'A route knows what a payment can come to, not whose SDK says so: another provider is one more adapter.',
      severity: 'error',
      from: { path: `^src/(${CONSUMERS})/` },
      to: { path: '^src/payments/.*stripe|^node_modules/stripe/' },
    },
    {
      name: 'operator-is-served-not-imported',
      comment: 'What a person may see and decide is built on the routes and the engine; neither leans on it.',
      severity: 'error',
      from: { path: '^src/(checkout|orders|charges|refunds)/' },
      to: { path: '^src/operator/' },
    },
    {
      name: 'erasure-is-asked-for-not-imported',
      comment:
        'Where each table holds something of a person is gathered in one room; only operators ask it to act.',
      severity: 'error',
      from: { path: `^src/(${CONSUMERS}|${PARTS})/`, pathNot: '^src/(erasure|operator)/' },
      to: { path: '^src/erasure/' },
    },
    {
      name: 'checkout-is-composed-not-imported',
      comment: 'A checkout is an order and a charge; neither of them has heard of it.',
      severity: 'error',
      from: { path: '^src/(orders|charges|refunds)/' },
      to: { path: '^src/checkout/' },
    },
    {
      name: 'keys-are-read-not-imported',
      comment:
        'What a key led to is gathered from charges and refunds; neither has heard of the page that shows it.',
      severity: 'error',
      from: { path: `^src/(${CONSUMERS}|${PARTS})/`, pathNot: '^src/keys/' },
      to: { path: '^src/keys/' },
    },
    {
      name: 'nobody-imports-a-root',
      comment: 'main and app.module wire things up; what they wire must not reach back for them.',
      severity: 'error',
      from: { path: '^src/.+/', pathNot: '^src/sandbox/' },
      to: { path: '^src/[^/]+\\.ts$' },
    },
    {
      name: 'nobody-imports-the-sandbox',
      comment:
        'The sandbox plays infrastructure on a laptop and needs devDependencies that production does not have.',
      severity: 'error',
      from: { path: '^(src|migrations)/', pathNot: '^src/sandbox/' },
      to: { path: '^src/sandbox/' },
    },
    {
      name: 'nobody-imports-the-client',
      comment:
        'The client is for whoever calls the service, and knows it by its published description alone. Neither needs the other to run.',
      severity: 'error',
      from: { path: '^(src|migrations)/', pathNot: '^src/client/' },
      to: { path: '^src/client/' },
    },
    {
      name: 'the-client-imports-nobody',
      comment: 'It can be copied into another repository: the folder, and openapi-fetch.',
      severity: 'error',
      from: { path: '^src/client/' },
      to: { path: '^(src|migrations)/', pathNot: '^src/client/' },
    },
    {
      name: 'src-never-imports-test',
      comment: 'What ships cannot lean on what does not.',
      severity: 'error',
      from: { path: '^(src|migrations)/' },
      to: { path: '^test/' },
    },
    {
      name: 'nobody-imports-an-example',
      comment:
        'An example shows how to build on the service; were anything built on it, it would be a part of the service.',
      severity: 'error',
      from: { path: '^(src|migrations|test|bench)/' },
      to: { path: '^docs/' },
    },
    {
      name: 'only-what-is-not-shipped-uses-dev-dependencies',
      comment:
        'The image is built with `npm ci --omit=dev`: such an import would fail at boot, in production only. It has neither the sandbox nor the client.',
      severity: 'error',
      from: { path: '^(src|migrations)/', pathNot: '^src/(sandbox|client)/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-undeclared-dependency',
      comment: 'A package that is here by luck is gone with the next install.',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined'] },
    },
    {
      name: 'resolvable',
      comment: 'An import that leads nowhere.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' }, // jest's global setup runs the build; what it imports is checked as src
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: 'specify',
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.mjs', '.json'],
    },
  },
};
