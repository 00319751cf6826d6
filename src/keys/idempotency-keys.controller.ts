import { Controller, Get, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { chargeBody } from '../charges/charge.js';
import { EXAMPLE_CHARGE } from '../charges/charge.example.js';
import { ChargesReader } from '../charges/charges.reader.js';
import { deriveKey } from '../idempotency/derived-key.js';
import { MalformedKey, parseIdempotencyKey } from '../idempotency/idempotency-key.js';
import { hasExpired } from '../idempotency/idempotency-key.row.js';
import { IdempotencyKeyStore } from '../idempotency/idempotency-key.store.js';
import { Config } from '../config/config.js';
import { Problem } from '../http/problem.js';
import { validationFailed } from '../http/problems.js';
import { Problems } from '../http/problems.decorator.js';
import { invalid } from '../http/validation.example.js';
import { refundBody } from '../refunds/refund.js';
import { RefundsReader } from '../refunds/refunds.reader.js';
import { CurrentTenant, type Tenant } from '../tenancy/tenant.js';
import { KeyBody } from './key-body.dto.js';
import { KeyQueryDto } from './key-query.dto.js';

const EXAMPLE_KEY: KeyBody = {
  key: 'basket-1001:pay:1',
  operation: 'checkout',
  status: 'finished',
  recoveryPoint: 'finished',
  attempts: 1,
  charge: chargeBody(EXAMPLE_CHARGE),
  refund: null,
  replyStatus: 201,
  createdAt: new Date('2026-01-31T12:00:00.000Z'),
  completedAt: new Date('2026-01-31T12:00:01.000Z'),
  expiresAt: new Date('2026-02-03T12:00:01.000Z'),
};

@ApiTags('idempotency keys')
@ApiBearerAuth()
@Controller('v1/idempotency-keys')
export class IdempotencyKeysController {
  constructor(
    private readonly keys: IdempotencyKeyStore,
    private readonly charges: ChargesReader,
    private readonly refunds: RefundsReader,
    private readonly config: Config,
  ) {}

  /** The truth about a key, for a client that lost an answer: how far it has come, and what is known of its effect. */
  @Get()
  @ApiOkResponse({ type: KeyBody, example: EXAMPLE_KEY })
  @Problems(invalid('key', 'must be 1 to 255 printable ASCII characters'), keyNotFound())
  async read(@CurrentTenant() { id: tenantId }: Tenant, @Query() query: KeyQueryDto): Promise<KeyBody> {
    const key = unquoted(query.key);
    const row = await this.keys.find(tenantId, key);
    if (!row || hasExpired(row)) throw keyNotFound();
    const [charge, refund] = await Promise.all([
      this.charges.findByDerivedKey(tenantId, deriveKey(this.config, row.id, 'charge')),
      this.refunds.findByDerivedKey(tenantId, deriveKey(this.config, row.id, 'refund')),
    ]);
    return {
      key,
      operation: row.operation,
      status: row.status,
      recoveryPoint: row.recovery_point,
      attempts: row.attempts,
      charge: charge ? chargeBody(charge) : null,
      refund: refund ? refundBody(refund) : null,
      replyStatus: row.reply_status,
      createdAt: row.created_at,
      completedAt: row.completed_at,
      expiresAt: row.expires_at,
    };
  }
}

/** Quotes are read as those of the header are: `"k"` is `k`. @throws Problem 400, where nothing ends them */
function unquoted(key: string): string {
  if (!key.startsWith('"')) return key; // also with blanks, which a header has between quotes only
  try {
    return parseIdempotencyKey(key);
  } catch (error) {
    if (!(error instanceof MalformedKey)) throw error;
    throw validationFailed([{ param: 'key', message: `key: ${error.reason.replace(/\.$/, '')}` }]);
  }
}

function keyNotFound(): Problem {
  return new Problem({
    status: 404,
    code: 'idempotency_key_not_found',
    title: 'There is no such Idempotency-Key',
    detail: 'No request with this Idempotency-Key has left a trace, or it has expired.',
    param: 'key',
  });
}
