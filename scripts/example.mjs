/**
 * A checkout whose first answer is lost, by the client of this repository, against a sandbox that runs (`npm start`).
 *
 *   npm run example
 *
 *   PORT, PROVIDER_PORT   where the sandbox listens, if not at 3000 and 4242
 */
import { createCheckoutClient } from '../dist/src/client/checkout-client.js';
import { newKey } from '../dist/src/client/keys.js';

const { PORT = 3000, PROVIDER_PORT = 4242 } = process.env;

const client = createCheckoutClient({
  baseUrl: `http://127.0.0.1:${PORT}`,
  apiKey: 'ck_test_acme',
  onRetry: ({ attempt, delay, outcome }) =>
    console.log(`Try ${attempt}: ${told(outcome)}. The same again in ${Math.round(delay)} ms.`),
});

await fetch(`http://127.0.0.1:${PORT}/health/ready`).catch(() => {
  console.error(`Nothing answers at port ${PORT}: run \`npm start\` first, in another terminal.`);
  process.exit(1);
});

const key = newKey();
console.log(`The key, made before anything is sent: ${key}`);

const { data, error, response } = await client.POST('/v1/checkouts', {
  params: { header: { 'Idempotency-Key': key } },
  headers: { 'Sandbox-Fault': 'reply.before_send=lose_reply' }, // everything is done, and the connection is cut
  body: {
    currency: 'eur',
    items: [{ sku: 'mug', quantity: 2, unitAmount: 1250 }],
    customer: { email: 'ada@example.com' },
    paymentMethod: 'pm_card_visa',
  },
});
if (error) throw new Error(error.detail);

const replayed = response.headers.has('idempotent-replayed') ? ', replayed' : '';
console.log(`Answer: ${response.status}${replayed}: order ${data.order.id} is ${data.order.status}.`);

const ledger = await fetch(`http://127.0.0.1:${PROVIDER_PORT}/_ledger`);
const { charges } = await ledger.json();
const mine = charges.filter(({ metadata }) => metadata.order_id === data.order.id);
console.log(`The payment provider made ${mine.length} charge of ${mine[0].amount / 100} EUR.`);
process.exitCode = mine.length === 1 ? 0 : 1;

function told(outcome) {
  return 'error' in outcome ? `no answer (${outcome.error.message})` : `answer ${outcome.response.status}`;
}
