import { Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Draining } from './draining.js';

/**
 * Ends the process the polite way on SIGTERM, on SIGINT, and when the parent that started it over a channel is
 * gone: readiness goes off, requests in flight are answered, loops stop, the pool closes. A second signal ends
 * it at once.
 *
 * @param patienceSeconds after which what still runs is cut off; longer than any request may take
 */
export function shutDownGracefully(app: NestFastifyApplication, patienceSeconds: number): void {
  let begun = false;
  const shutDown = (reason: string) => {
    if (begun) leave(1);
    begun = true;
    void drain(app, reason, patienceSeconds);
  };
  process.on('SIGTERM', () => shutDown('SIGTERM'));
  process.on('SIGINT', () => shutDown('SIGINT'));
  if (process.channel) process.on('disconnect', () => shutDown('the parent is gone'));
}

async function drain(app: NestFastifyApplication, reason: string, patienceSeconds: number): Promise<void> {
  const logger = new Logger('Shutdown');
  logger.log(`Shutting down: ${reason}`);
  setTimeout(() => leave(1), patienceSeconds * 1_000).unref();
  app.get(Draining).begin();
  try {
    await app.close();
    logger.log('Shut down');
    leave(0);
  } catch (error) {
    logger.error(error);
    leave(1);
  }
}

/**
 * On exit pino writes out its last lines, and tries for ever where the other end of the pipe is gone. So it is when
 * the parent was killed: then nobody reads them, and everything that matters is closed.
 */
function leave(code: number): void {
  if (process.connected === false) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}
