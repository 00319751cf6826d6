import { fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import type { Output } from './output.js';
import type { Sandbox } from './sandbox.js';

/** What the compiler says when it has come to rest; its first rest is the build we run on. */
const AT_REST = /Found (\d+) errors?\. Watching/;

/** The compiler knows nothing of us, and would go on watching after a kill. */
const LEAVE_WITH_PARENT = 'data:text/javascript,process.on("disconnect",()=>process.exit())';

const CHATTER = /Found 0 errors|Starting (incremental )?compilation/;

/** Compiles in the background and restarts the API and the worker on every build without errors. */
export function reloadOnChange(sandbox: Sandbox, output: Output): void {
  const nest = createRequire(import.meta.url).resolve('@nestjs/cli/bin/nest.js');
  const compiler = fork(nest, ['build', '--watch'], {
    execArgv: ['--import', LEAVE_WITH_PARENT],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  let builds = 0;
  createInterface({ input: compiler.stdout! }).on('line', (line) => {
    const text = stripVTControlCharacters(line).trimEnd();
    const errors = AT_REST.exec(text)?.[1];
    if (errors === '0' && builds++ > 0) void reload(sandbox, output);
    else if (text !== '' && !CHATTER.test(text)) output.note(`compiler | ${text}`);
  });
}

async function reload(sandbox: Sandbox, output: Output): Promise<void> {
  output.note('Compiled: the API and the worker restart');
  await sandbox.reload();
}
