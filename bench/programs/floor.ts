import { createHash, randomUUID } from 'node:crypto';
import { Agent, createServer, request as send } from 'node:http';
import pg from 'pg';

/**
 * What the machine allows: no framework, no validation, no recovery. The rows are those of the service, in the same two
 * transactions, each of them one prepared statement, and the call to the provider between them.
 */
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });
const provider = new URL(process.env['STRIPE_API_URL']!);
const agent = new Agent({ keepAlive: true, maxSockets: 128 });

const BEGIN = {
  name: 'begin',
  text: `WITH claim AS (
    INSERT INTO idempotency_keys (tenant_id, key, id, operation, fingerprint_scheme, fingerprint, member_hashes, status,
      recovery_point, input, state, request, request_step, request_derived_key, first_sent_at, owner, version, locked_until,
      next_run_at, attempts, request_id)
    VALUES ($1, $2, $3, 'checkout', 1, $4, '{}', 'in_progress', 'order_created', $5, $5, $5, 'charge', $6, now(), $7, 1,
      now() + interval '30 s', now() + interval '300 s', 1, $8)
    ON CONFLICT DO NOTHING RETURNING 1),
  placed AS (
    INSERT INTO orders (tenant_id, id, status, amount, currency, customer_email, metadata)
    SELECT $1, $9, 'pending', $10, $11, $12, '{}' FROM claim RETURNING 1),
  item AS (
    INSERT INTO order_items (tenant_id, order_id, position, sku, quantity, unit_amount)
    SELECT $1, $9, 0, $13, $14, $15 FROM placed),
  charge AS (
    INSERT INTO charges (tenant_id, id, order_id, status, amount, currency, derived_key)
    SELECT $1, $16, $9, 'pending', $10, $11, $6 FROM placed)
  SELECT count(*)::int AS won FROM claim`,
};

const FINISH = {
  name: 'finish',
  text: `WITH finished AS (
    UPDATE idempotency_keys SET status = 'finished', recovery_point = 'finished', state = NULL, input = NULL, request = NULL,
      version = version + 1, locked_until = NULL, reply_status = 201, reply_headers = '{}', reply_body = $3,
      completed_at = now(), expires_at = now() + interval '72 h'
    WHERE tenant_id = $1 AND key = $2 AND owner = $4 AND version = 1 AND status = 'in_progress' RETURNING 1),
  paid AS (
    UPDATE orders SET status = 'paid', version = version + 1 FROM finished WHERE tenant_id = $1 AND id = $5),
  settled AS (
    UPDATE charges SET status = 'succeeded', provider_id = $6 FROM finished WHERE tenant_id = $1 AND id = $7),
  booked AS (
    INSERT INTO ledger_entries (tenant_id, kind, subject, debit_account, credit_account, amount, currency)
    SELECT $1, 'charge', $5, 'provider_balance', 'sales', $8, $9 FROM finished),
  staged AS (
    INSERT INTO outbox_messages (tenant_id, id, dedupe_key, topic, ordering_key, payload)
    SELECT $1, $10, 'receipt:' || $5, 'receipt', $5, $11 FROM finished)
  SELECT count(*)::int AS won FROM finished`,
};

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    checkout(String(request.headers['idempotency-key']), Buffer.concat(chunks)).then(
      (reply) => {
        response.writeHead(201, { 'Content-Type': 'application/json' });
        response.end(reply);
      },
      (error: Error) => {
        response.statusCode = 500;
        response.end(error.message);
      },
    );
  });
});
server.listen(Number(process.env['PORT']), '127.0.0.1');

interface Body {
  readonly currency: string;
  readonly paymentMethod: string;
  readonly items: readonly [{ readonly sku: string; readonly quantity: number; readonly unitAmount: number }];
  readonly customer: { readonly email: string };
}

async function checkout(key: string, raw: Buffer): Promise<string> {
  const body = JSON.parse(raw.toString()) as Body;
  const [item] = body.items;
  const amount = item.quantity * item.unitAmount;
  const [execution, order, charge, owner] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  const derivedKey = `floor:${execution}:charge`;
  const fingerprint = createHash('sha256').update(raw).digest();
  const { currency, customer } = body;
  const what = [order, amount, currency, customer.email, item.sku, item.quantity, item.unitAmount, charge];
  const claim = ['acme', key, execution, fingerprint, raw.toString(), derivedKey, owner, execution, ...what];
  if (!won(await pool.query(BEGIN, claim))) throw new Error('taken');

  const payment = await pay(derivedKey, {
    amount,
    currency,
    paymentMethod: body.paymentMethod,
    order,
    charge,
  });
  const reply = JSON.stringify({
    order: { id: order, status: 'paid', amount, currency, items: body.items, customer },
    charge: { id: charge, orderId: order, status: 'succeeded', amount, currency },
  });
  const receipt = JSON.stringify({
    orderId: order,
    chargeId: charge,
    amount,
    currency,
    ...customer,
    items: body.items,
  });
  const end = [
    'acme',
    key,
    Buffer.from(reply),
    owner,
    order,
    payment.id,
    charge,
    amount,
    currency,
    randomUUID(),
    receipt,
  ];
  if (!won(await pool.query(FINISH, end))) throw new Error('fenced');
  return reply;
}

function won({ rows }: pg.QueryResult): boolean {
  return (rows as { won: number }[])[0]!.won === 1;
}

interface Payment {
  readonly amount: number;
  readonly currency: string;
  readonly paymentMethod: string;
  readonly order: string;
  readonly charge: string;
}

function pay(derivedKey: string, payment: Payment): Promise<{ id: string }> {
  const form = new URLSearchParams({
    amount: String(payment.amount),
    currency: payment.currency,
    payment_method: payment.paymentMethod,
    confirm: 'true',
    'metadata[tenant_id]': 'acme',
    'metadata[order_id]': payment.order,
    'metadata[charge_id]': payment.charge,
  }).toString();
  const headers = {
    'Content-Type': 'application/x-www-form-urlencoded',
    'Content-Length': Buffer.byteLength(form),
    'Idempotency-Key': derivedKey,
  };
  return new Promise((resolve, reject) => {
    const call = send(
      new URL('/v1/payment_intents', provider),
      { method: 'POST', agent, headers },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => resolve(JSON.parse(Buffer.concat(chunks).toString()) as { id: string }));
      },
    );
    call.on('error', reject);
    call.end(form);
  });
}
