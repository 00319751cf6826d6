import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openDataFolder } from './data-folder.js';
import { EmbeddedDatabase, portInUse, urlsOn } from './embedded-database.js';
import { requireFreePorts } from './ports.js';
import { Refusal } from './refusal.js';
import { seedDemoTenants } from './seed.js';
import { environmentOf } from './services.js';
import { readSettings, type SandboxSettings } from './settings.js';

const [command = '', ...args] = process.argv.slice(2);

const COMMANDS: Readonly<Record<string, string>> = {
  migrate: '../database/cli/migrate.js',
  revert: '../database/cli/revert.js',
  reset: '../database/cli/reset.js',
  distribute: '../database/cli/distribute.js',
  tenants: '../tenancy/cli/tenants.js',
  generate: './generate-migration.js',
};

/** `npm run db:migrate`, `npm run tenants` and their like: a command on the database that is meant. */
async function main(): Promise<number> {
  if (existsSync('.env')) process.loadEnvFile();
  const settings = readSettings(process.env);
  return settings.databaseUrl ? run(process.env) : onSandbox(settings);
}

/** The sandbox's PostgreSQL: as it runs, or started for the duration. */
async function onSandbox(settings: SandboxSettings): Promise<number> {
  const port = await portInUse(settings.dataDir);
  if (port !== undefined) return runOn(port, settings);
  const { POSTGRES_PORT } = settings.ports;
  await openDataFolder(settings.dataDir);
  await requireFreePorts([['POSTGRES_PORT', POSTGRES_PORT]], { patient: false });
  const database = new EmbeddedDatabase(settings, (text) => console.log(text));
  try {
    await database.start();
    return await runOn(POSTGRES_PORT, settings);
  } finally {
    await database.stop();
  }
}

async function runOn(port: number, settings: SandboxSettings): Promise<number> {
  const env = environmentOf(settings, urlsOn(port));
  const code = await run(env);
  if (code === 0 && command === 'reset') await seedDemoTenants(env.DATABASE_URL, env.HASH_SECRET);
  return code;
}

async function run(env: NodeJS.ProcessEnv): Promise<number> {
  const entry = COMMANDS[command];
  if (!entry)
    throw new Refusal(`There is no command ${command}: say one of ${Object.keys(COMMANDS).join(', ')}.`);
  const child = fork(fileURLToPath(new URL(entry, import.meta.url)), args, { env });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

process.on('SIGINT', () => undefined); // the command gets it as well; what was started is stopped after it
main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Refusal ? error.message : error);
    process.exit(1);
  },
);
