import pg from 'pg';

/** What there is to connect to. */
export interface Server {
  readonly host: string;
  readonly port: number;
}

/** None of the servers takes writes at present: all are standbys, or away. */
export class NoPrimary extends Error {
  /** SQLSTATE sqlclient_unable_to_establish_sqlconnection: the store is unavailable. */
  readonly code = '08001';

  constructor(reasons: readonly string[]) {
    super(`no server takes writes (${reasons.join('; ')})`);
    this.name = 'NoPrimary';
  }
}

/** Several servers of one database, of which one takes writes: which one changes when it dies, and a standby is promoted. */
export class Primary {
  /** The one that was it the last time comes first: a primary of before that comes back is not asked while another serves. */
  private addresses: readonly string[];

  constructor(addresses: readonly string[]) {
    this.addresses = addresses;
  }

  /**
   * As `target_session_attrs=read-write` of libpq, which pg does not know.
   * @param within milliseconds, for all of them @throws NoPrimary
   */
  async find(within: number): Promise<Server> {
    const reasons: string[] = [];
    for (const address of this.addresses) {
      try {
        const server = await writableAt(address, within / this.addresses.length);
        this.addresses = [address, ...this.addresses.filter((other) => other !== address)];
        return server;
      } catch (error) {
        reasons.push(`${new URL(address).host}: ${(error as Error).message}`);
      }
    }
    throw new NoPrimary(reasons);
  }
}

/** @throws where it does not answer, or takes no writes */
async function writableAt(connectionString: string, within: number): Promise<Server> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: within, query_timeout: within });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only');
    if (rows[0]?.transaction_read_only !== 'off') throw new Error('read-only');
    return { host: client.host, port: client.port };
  } finally {
    void client.end().catch(() => undefined);
  }
}
