import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Every table of a tenant leads with tenant_id in its primary key, unique constraints and foreign keys, so that
 * the schema can be partitioned or distributed by tenant without a change. Exceptions: tenants and api_keys,
 * which are small, read to find the tenant in the first place, and replicated whole where data is distributed.
 *
 * No table of a tenant has a foreign key to tenants: each insert would lock the tenant's one row, and every
 * request of a busy tenant would queue for it. The API key that names the tenant is the guard.
 * No foreign key points at idempotency_keys either: keys expire, business rows do not.
 */
export class InitialSchema1764374400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const sql of [TENANTS, IDEMPOTENCY_KEYS, ORDERS, CHARGES, REFUNDS, LEDGER, OUTBOX, INBOX, REVIEWS]) {
      await runner.query(sql);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE reviews, inbox_messages, outbox_messages, ledger_entries, refunds, charges, order_items, orders,
        idempotency_keys, api_keys, tenants`);
  }
}

const TENANTS = `
CREATE TABLE tenants (
  id text COLLATE "C" NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 63),
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE tenants IS 'The accounts that the service acts for.';
COMMENT ON COLUMN tenants.id IS 'Leads the key of every row the account owns.';
COMMENT ON COLUMN tenants.name IS 'What people call the account.';
COMMENT ON COLUMN tenants.created_at IS 'When the account was made.';

CREATE TABLE api_keys (
  hash bytea NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
  tenant_id text COLLATE "C" NOT NULL REFERENCES tenants (id),
  prefix text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz
);
COMMENT ON TABLE api_keys IS 'Credentials. A tenant may have several, so that one can be rotated while the other works.';
COMMENT ON COLUMN api_keys.hash IS 'HMAC-SHA-256 of the key under HASH_SECRET; the key itself is stored nowhere.';
COMMENT ON COLUMN api_keys.tenant_id IS 'The account that the key speaks for.';
COMMENT ON COLUMN api_keys.prefix IS 'The first characters of the key, for people to tell keys apart.';
COMMENT ON COLUMN api_keys.created_at IS 'When the key was issued.';
COMMENT ON COLUMN api_keys.revoked_at IS 'Since when the key is refused; null while it works.';
`;

const IDEMPOTENCY_KEYS = `
CREATE TABLE idempotency_keys (
  tenant_id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  id text COLLATE "C" NOT NULL,
  operation text NOT NULL,
  fingerprint_scheme smallint NOT NULL,
  fingerprint bytea NOT NULL CHECK (length(fingerprint) = 32),
  member_hashes json NOT NULL,
  status text NOT NULL CHECK (status IN ('in_progress', 'review', 'finished')),
  recovery_point text NOT NULL CHECK (length(recovery_point) <= 50),
  state json,
  input json,
  request json,
  request_step text,
  request_derived_key text CHECK (length(request_derived_key) <= 255),
  first_sent_at timestamptz,
  in_doubt boolean NOT NULL DEFAULT false,
  owner uuid NOT NULL,
  version integer NOT NULL,
  locked_until timestamptz,
  next_run_at timestamptz NOT NULL,
  attempts integer NOT NULL,
  last_error text,
  request_id text NOT NULL,
  reply_status smallint CHECK (reply_status BETWEEN 200 AND 599),
  reply_headers json,
  reply_body bytea CHECK (length(reply_body) <= 1048576),
  created_at timestamptz NOT NULL DEFAULT now(),
  completed_at timestamptz,
  expires_at timestamptz,
  PRIMARY KEY (tenant_id, key),
  CHECK ((status = 'finished') = (reply_status IS NOT NULL AND reply_body IS NOT NULL AND expires_at IS NOT NULL)),
  CHECK (status <> 'finished' OR (input IS NULL AND state IS NULL AND request IS NULL))
) WITH (fillfactor = 70);
CREATE INDEX idempotency_keys_due ON idempotency_keys (tenant_id, next_run_at) WHERE status = 'in_progress';
CREATE INDEX idempotency_keys_expired ON idempotency_keys (tenant_id, expires_at) WHERE status = 'finished';
COMMENT ON TABLE idempotency_keys IS 'One row per intent of a client: how far it has come, who is running it, and what was answered.';
COMMENT ON COLUMN idempotency_keys.tenant_id IS 'Two tenants may use the same key; they never see one another.';
COMMENT ON COLUMN idempotency_keys.key IS 'What the client sent in Idempotency-Key, unquoted; compared byte for byte.';
COMMENT ON COLUMN idempotency_keys.id IS 'Durable id of this execution: keys sent to other systems derive from it, logs name it. A key that expired and came back gets a new one.';
COMMENT ON COLUMN idempotency_keys.operation IS 'Stable name of the code behind the route.';
COMMENT ON COLUMN idempotency_keys.fingerprint_scheme IS 'How the fingerprint was made, so that a later scheme does not turn old rows into mismatches.';
COMMENT ON COLUMN idempotency_keys.fingerprint IS 'SHA-256 over method, path, query and canonical body of the first request.';
COMMENT ON COLUMN idempotency_keys.member_hashes IS 'Short keyed hash per part of the request: a mismatch can name what differs without anyone storing the values.';
COMMENT ON COLUMN idempotency_keys.status IS 'in_progress: owned or waiting to be resumed; review: a person decides; finished: the reply is stored and never changes.';
COMMENT ON COLUMN idempotency_keys.recovery_point IS 'Where the next owner continues.';
COMMENT ON COLUMN idempotency_keys.state IS 'What the phases so far hand to the next one; null once finished.';
COMMENT ON COLUMN idempotency_keys.input IS 'The validated input of the operation; a resumed key runs this, not the retry''s body; null once finished.';
COMMENT ON COLUMN idempotency_keys.request IS 'The request to the other system, frozen before its first send: every retry sends the same one.';
COMMENT ON COLUMN idempotency_keys.request_step IS 'Which step of the operation the frozen request belongs to.';
COMMENT ON COLUMN idempotency_keys.request_derived_key IS 'The idempotency key that the frozen request is sent with.';
COMMENT ON COLUMN idempotency_keys.first_sent_at IS 'From when the other system may have seen the derived key: its retention of that key counts from here.';
COMMENT ON COLUMN idempotency_keys.in_doubt IS 'An earlier try of the frozen request may have acted: that a later one did not proves nothing.';
COMMENT ON COLUMN idempotency_keys.owner IS 'Token of the attempt that holds the key; minted by every claim and takeover.';
COMMENT ON COLUMN idempotency_keys.version IS 'Fence: rises with every claim, takeover, release and phase, never with a renewal.';
COMMENT ON COLUMN idempotency_keys.locked_until IS 'Until when the owner may work, by the database''s clock; null or past: free to take over.';
COMMENT ON COLUMN idempotency_keys.next_run_at IS 'When the completer may pick the key up if no client came back for it.';
COMMENT ON COLUMN idempotency_keys.attempts IS 'How many owners the key has had.';
COMMENT ON COLUMN idempotency_keys.last_error IS 'Why the last attempt ended early, for operators; without values of the request.';
COMMENT ON COLUMN idempotency_keys.request_id IS 'Request-Id of the first request; replays name it in Original-Request.';
COMMENT ON COLUMN idempotency_keys.reply_status IS 'Status of the stored reply.';
COMMENT ON COLUMN idempotency_keys.reply_headers IS 'The headers that are part of the reply.';
COMMENT ON COLUMN idempotency_keys.reply_body IS 'The body as it was sent, byte for byte.';
COMMENT ON COLUMN idempotency_keys.created_at IS 'When the key was claimed.';
COMMENT ON COLUMN idempotency_keys.completed_at IS 'When the reply was stored.';
COMMENT ON COLUMN idempotency_keys.expires_at IS 'From when the key counts as absent; decided when it is read, whether or not the reaper has come by.';
`;

const ORDERS = `
CREATE TABLE orders (
  tenant_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'paid', 'canceled')),
  amount bigint NOT NULL CHECK (amount > 0),
  amount_refunded bigint NOT NULL DEFAULT 0 CHECK (amount_refunded BETWEEN 0 AND amount),
  currency text NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
  customer_email text NOT NULL,
  customer_name text,
  external_ref text COLLATE "C" CHECK (length(external_ref) BETWEEN 1 AND 255),
  shipping_address json,
  metadata json NOT NULL,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX orders_external_ref ON orders (tenant_id, external_ref) WHERE external_ref IS NOT NULL;
COMMENT ON TABLE orders IS 'What a customer buys. Outlives every key that made it.';
COMMENT ON COLUMN orders.tenant_id IS 'Whose order it is.';
COMMENT ON COLUMN orders.id IS 'TypeID, ord_…; sorts by time of creation.';
COMMENT ON COLUMN orders.status IS 'paid if and only if a charge succeeded and the ledger has its row.';
COMMENT ON COLUMN orders.amount IS 'Sum of the items, in the provider''s smallest unit of the currency.';
COMMENT ON COLUMN orders.amount_refunded IS 'How much of the amount went back.';
COMMENT ON COLUMN orders.currency IS 'Three letters, lower case.';
COMMENT ON COLUMN orders.customer_email IS 'Where the receipt goes.';
COMMENT ON COLUMN orders.customer_name IS 'How the receipt greets.';
COMMENT ON COLUMN orders.external_ref IS 'The client''s own name for the purchase; unique per tenant, so that it refuses a second one long after the key has expired.';
COMMENT ON COLUMN orders.shipping_address IS 'Where the goods go; editable under If-Match.';
COMMENT ON COLUMN orders.metadata IS 'Up to 20 short strings of the client''s own.';
COMMENT ON COLUMN orders.version IS 'Rises with every change; the ETag.';
COMMENT ON COLUMN orders.created_at IS 'When the order was made.';

CREATE TABLE order_items (
  tenant_id text COLLATE "C" NOT NULL,
  order_id text COLLATE "C" NOT NULL,
  position smallint NOT NULL,
  sku text NOT NULL,
  description text,
  quantity integer NOT NULL CHECK (quantity > 0),
  unit_amount bigint NOT NULL CHECK (unit_amount >= 0),
  PRIMARY KEY (tenant_id, order_id, position),
  FOREIGN KEY (tenant_id, order_id) REFERENCES orders (tenant_id, id)
);
COMMENT ON TABLE order_items IS 'The lines of an order.';
COMMENT ON COLUMN order_items.tenant_id IS 'Whose order it is.';
COMMENT ON COLUMN order_items.order_id IS 'The order.';
COMMENT ON COLUMN order_items.position IS 'Place in the order, from 0.';
COMMENT ON COLUMN order_items.sku IS 'The client''s name of the article.';
COMMENT ON COLUMN order_items.description IS 'What the receipt calls it.';
COMMENT ON COLUMN order_items.quantity IS 'How many.';
COMMENT ON COLUMN order_items.unit_amount IS 'Price of one, in the provider''s smallest unit.';
`;

const CHARGES = `
CREATE TABLE charges (
  tenant_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  order_id text COLLATE "C" NOT NULL,
  status text NOT NULL CHECK (status IN
    ('pending', 'unknown', 'requires_action', 'processing', 'succeeded', 'declined', 'rejected', 'canceled', 'review')),
  amount bigint NOT NULL CHECK (amount > 0),
  amount_refunded bigint NOT NULL DEFAULT 0 CHECK (amount_refunded BETWEEN 0 AND amount),
  currency text NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
  derived_key text NOT NULL CHECK (length(derived_key) <= 255),
  provider_id text,
  next_action json,
  failure json,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, derived_key),
  FOREIGN KEY (tenant_id, order_id) REFERENCES orders (tenant_id, id),
  CHECK (status <> 'succeeded' OR provider_id IS NOT NULL)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX charges_one_live_per_order ON charges (tenant_id, order_id)
  WHERE status IN ('pending', 'unknown', 'requires_action', 'processing', 'succeeded', 'review');
COMMENT ON TABLE charges IS 'Attempts to take the money of an order. At most one of an order may be live: two keys cannot charge it twice.';
COMMENT ON COLUMN charges.tenant_id IS 'Whose charge it is.';
COMMENT ON COLUMN charges.id IS 'TypeID, ch_…; also sent to the provider as metadata, to find the charge there.';
COMMENT ON COLUMN charges.order_id IS 'What is paid.';
COMMENT ON COLUMN charges.status IS 'declined, rejected and canceled free the order for another charge; each is confirmed by the provider.';
COMMENT ON COLUMN charges.amount IS 'In the provider''s smallest unit of the currency.';
COMMENT ON COLUMN charges.amount_refunded IS 'Reserved or refunded so far; never above the amount.';
COMMENT ON COLUMN charges.currency IS 'Three letters, lower case.';
COMMENT ON COLUMN charges.derived_key IS 'The idempotency key that the provider was sent; kept after the client''s key is reaped.';
COMMENT ON COLUMN charges.provider_id IS 'The provider''s name of the payment; null until it is known.';
COMMENT ON COLUMN charges.next_action IS 'What the customer must do, while status is requires_action.';
COMMENT ON COLUMN charges.failure IS 'Why the provider said no: code, declineCode, message.';
COMMENT ON COLUMN charges.created_at IS 'When the intent to charge was recorded, before the provider was asked.';
`;

const REFUNDS = `
CREATE TABLE refunds (
  tenant_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  charge_id text COLLATE "C" NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'requires_action', 'succeeded', 'failed', 'canceled')),
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
  reason text,
  derived_key text NOT NULL CHECK (length(derived_key) <= 255),
  provider_id text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, charge_id) REFERENCES charges (tenant_id, id)
);
COMMENT ON TABLE refunds IS 'Money that goes back. The amount is reserved on the charge before the provider is asked.';
COMMENT ON COLUMN refunds.tenant_id IS 'Whose refund it is.';
COMMENT ON COLUMN refunds.id IS 'TypeID, re_…';
COMMENT ON COLUMN refunds.charge_id IS 'What is refunded.';
COMMENT ON COLUMN refunds.status IS 'succeeded may later become failed; the amount then comes back to the charge.';
COMMENT ON COLUMN refunds.amount IS 'In the provider''s smallest unit of the currency.';
COMMENT ON COLUMN refunds.currency IS 'Three letters, lower case.';
COMMENT ON COLUMN refunds.reason IS 'duplicate, fraudulent or requested_by_customer.';
COMMENT ON COLUMN refunds.derived_key IS 'The idempotency key that the provider was sent.';
COMMENT ON COLUMN refunds.provider_id IS 'The provider''s name of the refund; null until it is known.';
COMMENT ON COLUMN refunds.created_at IS 'When the refund was reserved.';
`;

const LEDGER = `
CREATE TABLE ledger_entries (
  tenant_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('charge', 'refund')),
  subject text COLLATE "C" NOT NULL,
  debit_account text NOT NULL,
  credit_account text NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, kind, subject),
  CHECK (debit_account <> credit_account)
);
COMMENT ON TABLE ledger_entries IS 'One two-legged row per effect. Its key is the last guard: however often something is recorded, it counts once.';
COMMENT ON COLUMN ledger_entries.tenant_id IS 'Whose money it is.';
COMMENT ON COLUMN ledger_entries.kind IS 'charge: money came in; refund: it went back.';
COMMENT ON COLUMN ledger_entries.subject IS 'The order of a charge (an order is paid once), the refund of a refund.';
COMMENT ON COLUMN ledger_entries.debit_account IS 'Account that the amount is added to.';
COMMENT ON COLUMN ledger_entries.credit_account IS 'Account that the amount is taken from.';
COMMENT ON COLUMN ledger_entries.amount IS 'In the provider''s smallest unit of the currency.';
COMMENT ON COLUMN ledger_entries.currency IS 'Three letters, lower case.';
COMMENT ON COLUMN ledger_entries.created_at IS 'When the effect was recorded.';
`;

const OUTBOX = `
CREATE TABLE outbox_messages (
  tenant_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  sequence bigint GENERATED ALWAYS AS IDENTITY,
  dedupe_key text COLLATE "C" NOT NULL,
  topic text NOT NULL,
  ordering_key text COLLATE "C",
  payload json NOT NULL,
  due_at timestamptz DEFAULT now(),
  attempts integer NOT NULL DEFAULT 0,
  claim_token uuid,
  last_error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  sent_at timestamptz,
  dead_at timestamptz,
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, dedupe_key),
  CHECK (sent_at IS NULL OR dead_at IS NULL),
  CHECK ((due_at IS NULL) = (sent_at IS NOT NULL OR dead_at IS NOT NULL))
) WITH (fillfactor = 80);
CREATE INDEX outbox_messages_due ON outbox_messages (tenant_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX outbox_messages_unsent_in_order ON outbox_messages (tenant_id, ordering_key, sequence)
  WHERE sent_at IS NULL AND dead_at IS NULL AND ordering_key IS NOT NULL;
COMMENT ON TABLE outbox_messages IS 'Messages staged in the transaction of the change they tell of; the relay delivers them afterwards, at least once.';
COMMENT ON COLUMN outbox_messages.tenant_id IS 'Whose message it is.';
COMMENT ON COLUMN outbox_messages.id IS 'TypeID, msg_…';
COMMENT ON COLUMN outbox_messages.sequence IS 'Order of staging within one ordering key; never a cursor, as low numbers can commit late.';
COMMENT ON COLUMN outbox_messages.dedupe_key IS 'Names the message for good: a phase that runs again adds nothing, and receivers can drop duplicates by it.';
COMMENT ON COLUMN outbox_messages.topic IS 'What kind of message it is; a handler is registered for it.';
COMMENT ON COLUMN outbox_messages.ordering_key IS 'Messages with the same one are delivered in the order they were staged.';
COMMENT ON COLUMN outbox_messages.payload IS 'What the handler needs.';
COMMENT ON COLUMN outbox_messages.due_at IS 'When it may be claimed next; a claim moves it ahead by its lease, a failure by its backoff. Null once it is sent or dead.';
COMMENT ON COLUMN outbox_messages.attempts IS 'How often it was claimed; a relay that died counts.';
COMMENT ON COLUMN outbox_messages.claim_token IS 'Who may mark it: a relay that lost its claim marks nothing.';
COMMENT ON COLUMN outbox_messages.last_error IS 'Why the last delivery failed.';
COMMENT ON COLUMN outbox_messages.created_at IS 'When it was staged.';
COMMENT ON COLUMN outbox_messages.sent_at IS 'When its delivery was confirmed.';
COMMENT ON COLUMN outbox_messages.dead_at IS 'When it was given up; a person may requeue it.';
`;

const INBOX = `
CREATE TABLE inbox_messages (
  tenant_id text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  payload json NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now(),
  due_at timestamptz NOT NULL DEFAULT now(),
  attempts integer NOT NULL DEFAULT 0,
  last_error text,
  applied_at timestamptz,
  PRIMARY KEY (tenant_id, source, id)
);
CREATE INDEX inbox_messages_due ON inbox_messages (tenant_id, due_at) WHERE applied_at IS NULL;
COMMENT ON TABLE inbox_messages IS 'Messages received, each once; applied in the transaction that marks them so.';
COMMENT ON COLUMN inbox_messages.tenant_id IS 'Whose message it is.';
COMMENT ON COLUMN inbox_messages.source IS 'Who sent it.';
COMMENT ON COLUMN inbox_messages.id IS 'The sender''s id of it; a second delivery of the same one changes nothing.';
COMMENT ON COLUMN inbox_messages.payload IS 'What was said.';
COMMENT ON COLUMN inbox_messages.received_at IS 'When it was stored.';
COMMENT ON COLUMN inbox_messages.due_at IS 'When the worker may try to apply it next.';
COMMENT ON COLUMN inbox_messages.attempts IS 'How often that was tried.';
COMMENT ON COLUMN inbox_messages.last_error IS 'Why the last try failed.';
COMMENT ON COLUMN inbox_messages.applied_at IS 'When it took effect; null until then.';
`;

const REVIEWS = `
CREATE TABLE reviews (
  tenant_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  subject_kind text NOT NULL CHECK (subject_kind IN ('idempotency_key', 'charge', 'refund', 'event')),
  subject_id text COLLATE "C" NOT NULL,
  reason text NOT NULL,
  evidence json NOT NULL,
  opened_at timestamptz NOT NULL DEFAULT now(),
  decision text CHECK (decision IN ('mark_succeeded', 'mark_failed', 'retry')),
  decided_by text,
  decided_at timestamptz,
  PRIMARY KEY (tenant_id, id),
  CHECK ((decision IS NULL) = (decided_at IS NULL))
);
CREATE UNIQUE INDEX reviews_one_open_per_subject ON reviews (tenant_id, subject_kind, subject_id, reason)
  WHERE decided_at IS NULL;
COMMENT ON TABLE reviews IS 'Questions that no program may decide; a person does.';
COMMENT ON COLUMN reviews.tenant_id IS 'Whose money it is about.';
COMMENT ON COLUMN reviews.id IS 'TypeID, rev_…';
COMMENT ON COLUMN reviews.subject_kind IS 'What the question is about.';
COMMENT ON COLUMN reviews.subject_id IS 'Its id; for a key the durable id of its row.';
COMMENT ON COLUMN reviews.reason IS 'A stable code for why it was opened.';
COMMENT ON COLUMN reviews.evidence IS 'What is known: derived key, provider ids, attempts, last error.';
COMMENT ON COLUMN reviews.opened_at IS 'Since when it waits.';
COMMENT ON COLUMN reviews.decision IS 'What the person decided; null while it is open.';
COMMENT ON COLUMN reviews.decided_by IS 'Who.';
COMMENT ON COLUMN reviews.decided_at IS 'When.';
`;
