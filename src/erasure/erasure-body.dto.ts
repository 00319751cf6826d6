import { ApiProperty, ApiSchema } from '@nestjs/swagger';

@ApiSchema({ name: 'ErasedOrder' })
export class ErasedOrderBody {
  id!: string;
  status!: 'pending' | 'paid' | 'canceled';

  createdAt!: Date;

  /** Whether the client's own name for it is kept, and goes on refusing a second purchase. */
  keepsExternalRef!: boolean;

  /** When it was erased first; null where it was not. */
  erasedAt!: Date | null;

  /** Who did it. */
  erasedBy!: string | null;
}

@ApiSchema({ name: 'ErasureObstacle' })
export class ObstacleBody {
  kind!: 'order' | 'charge' | 'refund' | 'key' | 'mail' | 'event' | 'review';

  /** Of a key the id of its row, never its text. */
  id!: string;

  status!: string;

  /** What ends it. */
  waitFor!: string;
}

/** Ids and numbers: what operators see names no customer. */
@ApiSchema({ name: 'Erasure' })
export class ErasureBody {
  tenantId!: string;

  orders!: ErasedOrderBody[];

  /** Stored replies: a retry with their keys is answered 410, until the key expires. */
  @ApiProperty({ type: 'integer' })
  replies!: number;

  /** Mails that were sent: what they said is emptied. */
  @ApiProperty({ type: 'integer' })
  mails!: number;

  /** Mails that were given up: purged. */
  @ApiProperty({ type: 'integer' })
  deadLetters!: number;

  /** Charges with a reason of the provider, or a link for the customer. */
  @ApiProperty({ type: 'integer' })
  charges!: number;

  /** Events of the provider with such. */
  @ApiProperty({ type: 'integer' })
  events!: number;

  /** Reviews with such, or with a note that names the address. */
  @ApiProperty({ type: 'integer' })
  reviews!: number;

  /** Reviews whose note is for a person to read: it stays as it is. */
  notesToRead!: string[];

  /** What is under way; nothing is erased before it has ended. */
  obstacles!: ObstacleBody[];
}
