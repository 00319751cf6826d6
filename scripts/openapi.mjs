/**
 * The API's description, as the built service serves it at /docs/openapi.json, for programs that want it as a file.
 *
 *   node scripts/openapi.mjs            writes docs/openapi.json
 *   node scripts/openapi.mjs --check    writes nothing; fails where that file is out of date
 *
 * Nothing is connected to and nothing listens: the routes and their decorators say it all.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { loadConfig } from '../dist/src/config/config.js';
import { createApp } from '../dist/src/create-app.js';
import { describeApi } from '../dist/src/http/openapi.js';

const FILE = 'docs/openapi.json';

/** What must be set for a process to start; none of it is in the description. */
const SETTINGS = {
  ROLE: 'api',
  LOG_LEVEL: 'silent',
  DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none',
  STRIPE_API_URL: 'http://127.0.0.1:9',
  STRIPE_API_KEY: 'none',
  PROVIDER_KEY_PREFIX: 'none',
  SMTP_URL: 'smtp://127.0.0.1:9',
  HASH_SECRET: 'not-needed-where-no-request-is-answered',
};

const { values: options } = parseArgs({ options: { check: { type: 'boolean', default: false } } });

const app = await createApp(loadConfig(SETTINGS));
const description = `${JSON.stringify(describeApi(app), null, 2)}\n`;

if (!options.check) await writeFile(FILE, description);
else if (description !== (await readFile(FILE, 'utf8').catch(() => ''))) {
  console.error(`openapi: ${FILE} is out of date: run \`npm run openapi\``);
  process.exitCode = 1;
}
