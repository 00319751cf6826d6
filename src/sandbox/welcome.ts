import { randomUUID } from 'node:crypto';
import { SANDBOX_OPERATOR_TOKEN } from '../config/published.js';
import { urlsOn as databaseUrlsOn } from './embedded-database.js';
import { DEMO_TENANTS } from './seed.js';
import { urlsOn } from './services.js';
import type { SandboxSettings } from './settings.js';

/** What to open and what to paste. The key is a new one each time, so that the first line is a first request. */
export function welcome(settings: SandboxSettings): string {
  const urls = urlsOn(settings.ports);
  const curl = checkout(urls.api, randomUUID());
  return `
  Lab       ${urls.lab}   break a checkout and watch it recover
  API       ${urls.api}   docs ${urls.api}/docs
  Mailbox   ${urls.mailbox}
  Provider  ${urls.provider}/_ledger
  API keys  ${DEMO_TENANTS.map(({ apiKey }) => apiKey).join(', ')}
  Operator  ${SANDBOX_OPERATOR_TOKEN}   npm run operator -- reviews
  Database  ${settings.databaseUrl ? 'the one of DATABASE_URL' : databaseUrlsOn(settings.ports.POSTGRES_PORT).owner}

Charge a card:

${curl(2)}

The same again: the same bytes, and no second charge.

${curl(2)}

The same key with another quantity: refused with 422.

${curl(3)}

Ctrl-C stops everything; the data stays in ${settings.dataDir}.
`;
}

function checkout(api: string, key: string): (quantity: number) => string {
  const headers = [
    `Authorization: Bearer ${DEMO_TENANTS[0]?.apiKey}`,
    `Idempotency-Key: ${key}`,
    'Content-Type: application/json',
  ];
  return (quantity) => {
    const body = {
      currency: 'eur',
      items: [{ sku: 'mug', quantity, unitAmount: 1250 }],
      customer: { email: 'ada@example.com' },
      paymentMethod: 'pm_card_visa',
    };
    return `curl -i ${api}/v1/checkouts ${headers.map((header) => `-H '${header}'`).join(' ')} -d '${JSON.stringify(body)}'`;
  };
}
