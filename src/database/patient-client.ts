import pg from 'pg';
import type { Primary } from './primary.js';

type Connected = (error?: Error) => void;

export interface PatientClientConfig extends pg.ClientConfig {
  readonly connectionTimeoutMillis: number;
  /** Where there are several servers. */
  readonly primary?: Primary | undefined;
}

/**
 * While the pool hands a client over nobody listens for its errors, and the server may end a session at any moment:
 * an error without a listener would end the process. Whoever holds the client learns of it from their query.
 * A session that takes no writes (it reached a standby, or a primary while that was read-only) may stay so for ever:
 * it is not kept.
 */
export class PatientClient extends pg.Client {
  constructor(private readonly config: PatientClientConfig) {
    super(config);
    this.on('error', () => undefined);
    this.connection.on('errorMessage', ({ code }: pg.DatabaseError) => {
      if (code === READ_ONLY) void this.end();
    });
  }

  override connect(): Promise<this>;
  override connect(connected: Connected): void;
  override connect(connected?: Connected): Promise<this> | void {
    const { primary, connectionTimeoutMillis } = this.config;
    if (!primary) return connected ? super.connect(connected) : super.connect().then(() => this);
    const connecting = primary.find(connectionTimeoutMillis * SHARE).then((server) => {
      Object.assign(this, server);
      return super.connect();
    });
    if (!connected) return connecting.then(() => this);
    connecting.then(() => connected(), connected);
  }
}

/** Of the time to connect, what finding the primary may take: the pool lets go of a client that takes all of it. */
const SHARE = 0.7;

/** SQLSTATE read_only_sql_transaction. */
const READ_ONLY = '25006';
