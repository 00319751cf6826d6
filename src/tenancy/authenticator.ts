import type { Tenant } from './tenant.js';

/** The port to whoever knows whose a Bearer token is; an abstract class, so that it is its own Nest token. */
export abstract class Authenticator {
  /** @returns undefined where the token is nobody's, any more @throws where that cannot be found out at present */
  abstract tenantOf(token: string): Promise<Tenant | undefined>;
}
