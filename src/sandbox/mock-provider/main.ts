import { mockProvider } from './server.js';

/**
 * The mock provider as a process of its own: its ledger must not die with the service whose crashes are tried.
 * PROVIDER_PORT (default 4242; 0 takes any free port), HOST (default 127.0.0.1), DATA_DIR (its ledger; without it, memory only),
 * PROVIDER_WEBHOOK_URL (where events are sent; without it, nowhere), PROVIDER_WEBHOOK_SECRET (what they are signed with).
 */
const port = Number(process.env['PROVIDER_PORT'] || 4242);
const { PROVIDER_WEBHOOK_URL: url, PROVIDER_WEBHOOK_SECRET: secret } = process.env;
const app = mockProvider(process.env['DATA_DIR'] || undefined, url && secret ? { url, secret } : undefined);

async function stop(): Promise<void> {
  await app.close();
  process.exit(0);
}

process.once('SIGTERM', () => void stop());
process.once('SIGINT', () => void stop());
process.once('disconnect', () => void stop()); // whoever started it is gone

try {
  const url = await app.listen({ port, host: process.env['HOST'] || '127.0.0.1' });
  console.log(`mock provider listening on ${url}`);
} catch (error) {
  const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
  console.error(
    taken ? `Port ${port} is taken: set PROVIDER_PORT to another one.` : (error as Error).message,
  );
  process.exit(1);
}
