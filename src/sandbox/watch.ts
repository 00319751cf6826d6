import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import type { Output } from './output.js';
import type { Sandbox } from './sandbox.js';

/** What the compiler says when it has come to rest; its first rest is the build we run on. */
const AT_REST = /Found (\d+) errors?\. Watching/;

/** Compiles in the background and restarts the API and the worker on every build without errors. */
export function reloadOnChange(sandbox: Sandbox, output: Output): void {
  const nest = createRequire(import.meta.url).resolve('@nestjs/cli/bin/nest.js');
  const compiler = spawn(process.execPath, [nest, 'build', '--watch'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.once('exit', () => compiler.kill());
  let builds = 0;
  createInterface({ input: compiler.stdout }).on('line', (line) => {
    const errors = AT_REST.exec(line)?.[1];
    if (errors === undefined) return output.note(`compiler | ${line}`);
    if (errors === '0' && builds++ > 0) void sandbox.reload();
  });
}
