import { Injectable } from '@nestjs/common';
import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload } from 'jose';
import { Database } from '../../../src/database/transaction.js';
import { Problem } from '../../../src/http/problem.js';
import { addTenant } from '../../../src/tenancy/api-keys.js';
import { Authenticator } from '../../../src/tenancy/authenticator.js';
import type { Tenant } from '../../../src/tenancy/tenant.js';

/** In a service of your own, four settings; an abstract class, so that it is its own Nest token. */
export abstract class JwtSettings {
  /** As `iss` has it. */
  abstract readonly issuer: string;
  /** What this service is called there, as `aud` has it. */
  abstract readonly audience: string;
  /** Where the issuer publishes its keys: `jwks_uri` of its `/.well-known/openid-configuration`. */
  abstract readonly jwks: URL;
  /** The claim that names the account, the same for the same account for good: `tenant_id`, `org_id`. */
  abstract readonly tenantClaim: string;
}

/** Knows callers by the tokens of an OpenID provider. Users of one tenant share its keys: the same key is one intent. */
@Injectable()
export class JwtAuthenticator extends Authenticator {
  private readonly keys;
  private readonly seen = new Set<string>();

  constructor(
    private readonly settings: JwtSettings,
    private readonly database: Database,
  ) {
    super();
    this.keys = createRemoteJWKSet(settings.jwks, { timeoutDuration: 2_000 });
  }

  async tenantOf(token: string): Promise<Tenant | undefined> {
    const id = (await this.verified(token))?.[this.settings.tenantClaim];
    if (typeof id !== 'string' || !TENANT_ID.test(id)) return undefined;
    if (!this.seen.has(id)) await addTenant(this.database, { id, name: id });
    this.seen.add(id);
    return { id };
  }

  /** @throws Problem 503, where the issuer's keys cannot be had: that says nothing of the token */
  private async verified(token: string): Promise<JWTPayload | undefined> {
    try {
      const { issuer, audience } = this.settings;
      const must = { issuer, audience, algorithms: ALGORITHMS, requiredClaims: ['exp'], clockTolerance: 5 };
      return (await jwtVerify(token, this.keys, must)).payload;
    } catch (error) {
      if (OF_THE_TOKEN.some((kind) => error instanceof kind)) return undefined;
      throw issuerUnavailable();
    }
  }
}

const TENANT_ID = /^[\x21-\x7e]{1,63}$/;

/** What is signed with a key pair: `none`, and secrets that both sides know, are none of it. */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];

const OF_THE_TOKEN = [
  errors.JWTExpired,
  errors.JWTClaimValidationFailed,
  errors.JWTInvalid,
  errors.JWSInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
  errors.JWKSNoMatchingKey,
];

function issuerUnavailable(): Problem {
  return new Problem({
    status: 503,
    code: 'issuer_unavailable',
    title: 'Tokens cannot be checked at present',
    detail: 'The keys of the token’s issuer cannot be had. Retry with the same Idempotency-Key.',
    headers: { 'Retry-After': '1', 'Should-Retry': 'true' },
  });
}
