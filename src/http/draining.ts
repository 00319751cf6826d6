import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { isHealthProbe } from './probes.js';
import { shuttingDown } from './problems.js';

/** Whether this process has begun to shut down: it finishes what it has, and takes nothing new. */
@Injectable()
export class Draining implements OnModuleDestroy {
  private begun = false;

  get active(): boolean {
    return this.begun;
  }

  begin(): void {
    this.begun = true;
  }

  onModuleDestroy(): void {
    this.begin();
  }
}

/** Connections that are kept alive still bring requests after the server stopped listening. */
export function refuseWhileDraining(server: FastifyInstance, draining: Draining): void {
  server.addHook('onRequest', (request, _reply, done) => {
    done(draining.active && !isAsked(request.url) ? shuttingDown() : undefined);
  });
  server.addHook('onSend', (_request, reply, _payload, done) => {
    if (draining.active) reply.header('Connection', 'close'); // the client's next request belongs elsewhere
    done();
  });
}

/** Also on the way down: how it does, and what it counts. */
function isAsked(url: string): boolean {
  return isHealthProbe(url) || url === '/metrics';
}
