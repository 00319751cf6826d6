import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Output, seconds } from './output.js';
import { Refusal } from './refusal.js';
import { Sandbox } from './sandbox.js';
import { readSettings } from './settings.js';
import { onTermination } from './termination.js';
import { reloadOnChange } from './watch.js';
import { welcome } from './welcome.js';

const { values: options } = parseArgs({
  options: { verbose: { type: 'boolean' }, watch: { type: 'boolean' } },
});

/** `npm start`: everything that a checkout needs, on this machine, until Ctrl-C. */
async function main(): Promise<void> {
  if (existsSync('.env')) process.loadEnvFile();
  const settings = readSettings(process.env);
  const output = new Output(options.verbose ?? false);
  const sandbox = new Sandbox(settings, output);
  const leaving = onTermination({
    stop: () => leave(sandbox),
    kill: () => sandbox.kill().finally(() => process.exit(1)),
  });
  try {
    await sandbox.start();
  } catch (error) {
    if (leaving.begun) return; // stopped halfway: what was about to start failed on purpose
    await sandbox.stop();
    throw error;
  }
  console.log(`\nReady in ${seconds(performance.now())}.\n${welcome(settings)}`);
  if (options.watch) reloadOnChange(sandbox, output);
}

async function leave(sandbox: Sandbox): Promise<void> {
  console.log('\nStopping ...');
  await sandbox.stop();
  console.log('Stopped.');
  process.exit(0);
}

main().catch((error: unknown) => {
  console.error(error instanceof Refusal ? `\n${error.message}` : error);
  process.exit(1);
});
