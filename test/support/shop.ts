import type { DynamicModule } from '@nestjs/common';
import { createTestDatabase, type TestDatabase } from './database.js';
import { startMockProvider, type LedgerEntry, type MockProvider } from './mock-provider.js';
import { startApi, type ApiOptions, type StartedApi } from './start-api.js';

/** The service in this process, with a database and a payment provider of its own. */
export interface Shop {
  readonly db: TestDatabase;
  readonly provider: MockProvider;
  readonly api: StartedApi;
  /** What the provider knows of an order: one entry per effect. */
  chargesOf(orderId: string): Promise<LedgerEntry[]>;
  close(): Promise<void>;
}

/** `modules` adds what only the test has. */
export async function openShop(
  options: Partial<ApiOptions> = {},
  modules: DynamicModule['imports'] = [],
): Promise<Shop> {
  const [db, provider] = await Promise.all([createTestDatabase(), startMockProvider()]);
  const api = await startApi({ databaseUrl: db.url, providerUrl: provider.url, ...options }, modules);
  return {
    db,
    provider,
    api,
    chargesOf: async (orderId) =>
      (await provider.ledger()).charges.filter(({ metadata }) => metadata['order_id'] === orderId),
    close: async () => {
      await api.stop();
      await provider.stop();
      await db.drop();
    },
  };
}
