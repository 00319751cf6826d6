import type { FastifyInstance } from 'fastify';
import { isHealthProbe } from '../http/probes.js';
import type { Limits } from './limits.js';

/** Before anybody is authenticated: who tries API keys is stopped here. Probes come from the platform, however often. */
export function limitAddresses(server: FastifyInstance, limits: Limits): void {
  if (!limits.ofAddresses) return;
  server.addHook('onRequest', async ({ url, ip }) => {
    if (!isHealthProbe(url)) limits.address(ip);
  });
}
