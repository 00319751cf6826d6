import { createCipheriv, createDecipheriv, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { EngineSettings } from './engine-settings.js';
import { sealedBroken, sealedElsewhere } from './sealing.problems.js';

/** The columns of `idempotency_keys` that hold what a client sent and was answered. */
export interface SealedColumns {
  readonly input: unknown;
  readonly state: unknown;
  readonly request: unknown;
  readonly reply_body: Buffer | null;
}

type Column = keyof SealedColumns;

/** Whose value it is: the tenant, and the durable id of the execution. */
interface Whose {
  readonly tenantId: string;
  readonly id: string;
}

interface SealedRow extends SealedColumns {
  readonly id: string;
  /** Id of the key; null: the row is plain. */
  readonly sealed_with: string | null;
}

const ALGORITHM = 'aes-256-gcm';

/** Random, which is safe for 2^32 values under one key (NIST SP 800-38D, 8.3). */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Seals what the table of keys stores of a client's words, by AES-256-GCM, and opens it: nonce, ciphertext and tag, one
 * behind the other. Each value is bound to its tenant, its execution and its column; in another place it does not open.
 */
@Injectable()
export class Sealing {
  /** Id of the key that seals what this process writes; null: it writes plain. */
  readonly writesWith: string | null;
  private readonly keys: ReadonlyMap<string, KeyObject>;
  private readonly writer: KeyObject | undefined;

  constructor({ sealing }: EngineSettings) {
    this.writesWith = sealing?.writesWith ?? null;
    this.keys = new Map([...(sealing?.keys ?? [])].map(([id, bytes]) => [id, createSecretKey(bytes)]));
    this.writer = this.keys.get(this.writesWith ?? '');
  }

  /** @returns the bytes as they are, where this process writes plain */
  seal(whose: Whose, column: Column, bytes: Buffer): Buffer {
    if (!this.writer) return bytes;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.writer, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(place(whose, column));
    return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }

  /** For a column of type json, where a sealed value is a string of base64. @returns NULL for what is not there */
  sealJson(whose: Whose, column: Column, value: unknown): string | null {
    if (value === undefined) return null;
    const text = JSON.stringify(value);
    if (!this.writer) return text;
    return JSON.stringify(this.seal(whose, column, Buffer.from(text)).toString('base64'));
  }

  /** @throws Problem 503, where this process does not have the key, or the value is not what was sealed in this place */
  open(keyId: string, whose: Whose, column: Column, sealed: Buffer): Buffer {
    const key = this.keys.get(keyId);
    if (!key) throw sealedElsewhere(keyId);
    try {
      const nonce = sealed.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(place(whose, column));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    } catch {
      throw sealedBroken(keyId);
    }
  }

  /**
   * The row, whose values open when they are looked at: what needs none of them, as the 409 of a key that is in use, does
   * not depend on a key that this process may not have. Looking at one throws as `open` does.
   */
  opened<Row extends SealedRow>(tenantId: string, row: Row): Row {
    const { id, sealed_with: keyId } = row;
    if (keyId === null) return row;
    const bytes = (column: Column, sealed: Buffer) => this.open(keyId, { tenantId, id }, column, sealed);
    const json = (column: Column): unknown => {
      const sealed: unknown = row[column];
      if (sealed === null) return null;
      const base64 = typeof sealed === 'string' ? sealed : ''; // opens as little as any other thing that was not sealed
      return JSON.parse(bytes(column, Buffer.from(base64, 'base64')).toString());
    };
    return {
      ...row,
      get input() {
        return json('input');
      },
      get state() {
        return json('state');
      },
      get request() {
        return json('request');
      },
      get reply_body() {
        return row.reply_body && bytes('reply_body', row.reply_body);
      },
    };
  }
}

function place({ tenantId, id }: Whose, column: Column): Buffer {
  return Buffer.from(`${tenantId}\n${id}\n${column}`);
}
