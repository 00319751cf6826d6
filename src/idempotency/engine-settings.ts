import type { SealingKeys } from '../config/sealing-keys.js';
import type { Timings } from '../config/timings.js';

/**
 * All that the engine is told, handed to `IdempotencyModule.for(…)`; an abstract class, so that it is also its Nest token.
 * The service's `Config` has all of it; an application that takes the engine alone brings eight values, and keys to seal with
 * where it wants to.
 */
export abstract class EngineSettings {
  /** Begins every derived key, so that two deployments that share an account cannot collide: 1 to 32 of a-z, 0-9, _ and -. */
  abstract readonly keyPrefix: string;
  /** How long the other systems remember a derived key; nothing is sent again on its own after that. */
  abstract readonly keyWindowHours: number;
  /** Keys the hashes by which a mismatch names what differs. */
  abstract readonly hashSecret: string;
  /** Seal what clients sent and were answered; left out, it is stored plain. */
  abstract readonly sealing?: SealingKeys | undefined;
  /** How long a finished key is kept, from its reply. */
  abstract readonly retentionHours: number;
  abstract readonly timings: Timings;
  /** Tries of the completer that speak against a key, until a person is asked. */
  abstract readonly completerMaxTries: number;
  /** Every recovery point is its own commit, so that it can be seen and crashed at. */
  abstract readonly commitEveryPhase: boolean;
  /** Whether the header Sandbox-Fault breaks a request at a named point; never in production. */
  abstract readonly faults: boolean;
}
