import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The engine's two tables, in one piece for an application that has none of them yet. */
export class Engine1764600000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const sql of [IDEMPOTENCY_KEYS, REVIEWS]) await runner.query(sql);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE reviews, idempotency_keys');
  }
}

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
  reply_body bytea,
  created_at timestamptz NOT NULL DEFAULT now(),
  completed_at timestamptz,
  expires_at timestamptz,
  completer_tries integer NOT NULL DEFAULT 0,
  doubtful_tries integer NOT NULL DEFAULT 0,
  unrecognised_since timestamptz,
  known_outcome json,
  sealed_with text,
  PRIMARY KEY (tenant_id, key),
  CONSTRAINT idempotency_keys_reply_body_check
    CHECK (length(reply_body) <= 1048576 + CASE WHEN sealed_with IS NULL THEN 0 ELSE 28 END),
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
COMMENT ON COLUMN idempotency_keys.state IS 'What the phases so far hand to the next one; null once finished. Sealed: a string of base64.';
COMMENT ON COLUMN idempotency_keys.input IS 'The validated input of the operation; a resumed key runs this, not the retry''s body; null once finished. Sealed: a string of base64.';
COMMENT ON COLUMN idempotency_keys.request IS 'The request to the other system, frozen before its first send: every retry sends the same one. Sealed: a string of base64.';
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
COMMENT ON COLUMN idempotency_keys.reply_body IS 'The body as it was sent, byte for byte. Sealed: nonce, ciphertext and tag, 28 bytes more.';
COMMENT ON COLUMN idempotency_keys.created_at IS 'When the key was claimed.';
COMMENT ON COLUMN idempotency_keys.completed_at IS 'When the reply was stored.';
COMMENT ON COLUMN idempotency_keys.expires_at IS 'From when the key counts as absent; decided when it is read, whether or not the reaper has come by.';
COMMENT ON COLUMN idempotency_keys.completer_tries IS 'How often the completer has claimed the key; its backoff grows with it.';
COMMENT ON COLUMN idempotency_keys.doubtful_tries IS 'Those of them that failed and may have acted, or died; at the cap a person decides. What surely did nothing does not count.';
COMMENT ON COLUMN idempotency_keys.unrecognised_since IS 'Since when the completer has met the key in builds that do not know its operation or recovery point; null where they do.';
COMMENT ON COLUMN idempotency_keys.known_outcome IS 'What a person decided that the frozen request came to; the next owner records it in place of the call. Null once it is recorded.';
COMMENT ON COLUMN idempotency_keys.sealed_with IS 'Id of the key that input, state, request and reply_body are sealed with, by AES-256-GCM; null: they are plain.';
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
  idempotency_key text COLLATE "C",
  provider_id text CHECK (length(provider_id) <= 255),
  note text CHECK (length(note) <= 1000),
  PRIMARY KEY (tenant_id, id),
  CHECK ((decision IS NULL) = (decided_at IS NULL))
);
CREATE UNIQUE INDEX reviews_one_open_per_subject ON reviews (tenant_id, subject_kind, subject_id, reason)
  WHERE decided_at IS NULL;
CREATE INDEX reviews_newest ON reviews (id);
COMMENT ON TABLE reviews IS 'Questions that no program may decide; a person does.';
COMMENT ON COLUMN reviews.tenant_id IS 'Whose money it is about.';
COMMENT ON COLUMN reviews.id IS 'TypeID, rev_…';
COMMENT ON COLUMN reviews.subject_kind IS 'What the question is about.';
COMMENT ON COLUMN reviews.subject_id IS 'Its id; for a key the durable id of its row.';
COMMENT ON COLUMN reviews.reason IS 'A stable code for why it was opened.';
COMMENT ON COLUMN reviews.evidence IS 'What is known: derived key, provider ids, attempts, last error.';
COMMENT ON COLUMN reviews.opened_at IS 'Since when it waits.';
COMMENT ON COLUMN reviews.decision IS 'What the person decided; null while it is open.';
COMMENT ON COLUMN reviews.decided_by IS 'Who: a label made from the operator token, never the token.';
COMMENT ON COLUMN reviews.decided_at IS 'When.';
COMMENT ON COLUMN reviews.idempotency_key IS 'The key that the question is about, to find its row; shown to nobody.';
COMMENT ON COLUMN reviews.provider_id IS 'The payment at the provider that the decision names.';
COMMENT ON COLUMN reviews.note IS 'Why the person decided so, in their words.';
`;
