import { createServer } from 'node:http';

/**
 * A payment provider that answers at once, or after a while (`POST /_delay`: the least and the most, in ms), and does nothing else that takes time: what is measured
 * is the service. It says how many different keys it has charged under, by the prefix of the key.
 */
const charged = new Map<string, Set<string>>();
let delay: readonly [least: number, most: number] = [0, 0];
let sequence = 0;

const server = createServer((request, response) => {
  if (request.method === 'GET') return respond(Object.fromEntries([...charged].map(([p, k]) => [p, k.size])));
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString();
    if (request.url === '/_delay') return respond({ delay: (delay = JSON.parse(body) as typeof delay) });
    const answer = charge(String(request.headers['idempotency-key']), new URLSearchParams(body));
    const [least, most] = delay;
    if (most === 0) respond(answer);
    else setTimeout(respond, least + Math.random() * (most - least), answer);
  });

  function respond(body: object): void {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(body));
  }
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${(server.address() as { port: number }).port}`),
);

function charge(key: string, form: URLSearchParams): object {
  const [prefix = ''] = key.split(':');
  if (!charged.has(prefix)) charged.set(prefix, new Set());
  charged.get(prefix)!.add(key);
  const amount = Number(form.get('amount'));
  const metadata = ['tenant_id', 'order_id', 'charge_id'].map((name) => [
    name,
    form.get(`metadata[${name}]`),
  ]);
  return {
    id: `pi_${++sequence}`,
    object: 'payment_intent',
    status: 'succeeded',
    amount,
    amount_received: amount,
    currency: form.get('currency'),
    metadata: Object.fromEntries(metadata) as object,
  };
}
