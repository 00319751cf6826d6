import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What clients sent and were answered may be sealed. Rows that are and rows that are not live side by side, so that the
 * option can be switched while the service runs.
 */
export class SealedValues1764502200000 implements MigrationInterface {
  /** Not validated: every row that is there kept the narrower rule, and to read them all would hold up the writers. */
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE idempotency_keys
        ADD COLUMN sealed_with text,
        DROP CONSTRAINT idempotency_keys_reply_body_check,
        ADD CONSTRAINT idempotency_keys_reply_body_check
          CHECK (length(reply_body) <= 1048576 + CASE WHEN sealed_with IS NULL THEN 0 ELSE 28 END) NOT VALID;
      COMMENT ON COLUMN idempotency_keys.sealed_with IS 'Id of the key that input, state, request and reply_body are sealed with, by AES-256-GCM; null: they are plain.';
      COMMENT ON COLUMN idempotency_keys.state IS 'What the phases so far hand to the next one; null once finished. Sealed: a string of base64.';
      COMMENT ON COLUMN idempotency_keys.input IS 'The validated input of the operation; a resumed key runs this, not the retry''s body; null once finished. Sealed: a string of base64.';
      COMMENT ON COLUMN idempotency_keys.request IS 'The request to the other system, frozen before its first send: every retry sends the same one. Sealed: a string of base64.';
      COMMENT ON COLUMN idempotency_keys.reply_body IS 'The body as it was sent, byte for byte. Sealed: nonce, ciphertext and tag, 28 bytes more.';
    `);
  }

  /** A build from before would take what is sealed for what was sent. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      LOCK TABLE idempotency_keys IN ACCESS EXCLUSIVE MODE;
      DO $$ BEGIN
        IF EXISTS (SELECT FROM idempotency_keys WHERE sealed_with IS NOT NULL) THEN
          RAISE EXCEPTION 'Some keys are sealed: put "plain" in front of SEALING_KEYS, and wait until they have expired';
        END IF;
      END $$;
      ALTER TABLE idempotency_keys
        DROP CONSTRAINT idempotency_keys_reply_body_check,
        DROP COLUMN sealed_with,
        ADD CONSTRAINT idempotency_keys_reply_body_check CHECK (length(reply_body) <= 1048576);
      COMMENT ON COLUMN idempotency_keys.state IS 'What the phases so far hand to the next one; null once finished.';
      COMMENT ON COLUMN idempotency_keys.input IS 'The validated input of the operation; a resumed key runs this, not the retry''s body; null once finished.';
      COMMENT ON COLUMN idempotency_keys.request IS 'The request to the other system, frozen before its first send: every retry sends the same one.';
      COMMENT ON COLUMN idempotency_keys.reply_body IS 'The body as it was sent, byte for byte.';
    `);
  }
}
