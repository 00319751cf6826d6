import { InitialSchema1764374400000 } from '../../migrations/1764374400000-initial-schema.js';
import { CompleterAndReaper1764442800000 } from '../../migrations/1764442800000-completer-and-reaper.js';
import { OperatorDecisions1764460800000 } from '../../migrations/1764460800000-operator-decisions.js';
import { RefundReversals1764464400000 } from '../../migrations/1764464400000-refund-reversals.js';
import { OpenCharges1764468000000 } from '../../migrations/1764468000000-open-charges.js';
import { Sweeps1764475200000 } from '../../migrations/1764475200000-sweeps.js';
import { OpenRefunds1764478800000 } from '../../migrations/1764478800000-open-refunds.js';
import { OwedBack1764482400000 } from '../../migrations/1764482400000-owed-back.js';
import { Confirmations1764484200000 } from '../../migrations/1764484200000-confirmations.js';
import { DeadEvents1764486900000 } from '../../migrations/1764486900000-dead-events.js';
import { Erasures1764490500000 } from '../../migrations/1764490500000-erasures.js';
import { PlansOfAnyAge1764492600000 } from '../../migrations/1764492600000-plans-of-any-age.js';
import { ApiKeysInUse1764495000000 } from '../../migrations/1764495000000-api-keys-in-use.js';
import { TenantUse1764498600000 } from '../../migrations/1764498600000-tenant-use.js';
import { SealedValues1764502200000 } from '../../migrations/1764502200000-sealed-values.js';
import { RowSecurity1764506400000 } from '../../migrations/1764506400000-row-security.js';
import { StatisticsFromTheStart1764510000000 } from '../../migrations/1764510000000-statistics-from-the-start.js';

/** Every migration, in order. Listed by hand: a glob would find nothing after a build with another layout. */
export const migrations = [
  InitialSchema1764374400000,
  CompleterAndReaper1764442800000,
  OperatorDecisions1764460800000,
  RefundReversals1764464400000,
  OpenCharges1764468000000,
  Sweeps1764475200000,
  OpenRefunds1764478800000,
  OwedBack1764482400000,
  Confirmations1764484200000,
  DeadEvents1764486900000,
  Erasures1764490500000,
  PlansOfAnyAge1764492600000,
  ApiKeysInUse1764495000000,
  TenantUse1764498600000,
  SealedValues1764502200000,
  RowSecurity1764506400000,
  StatisticsFromTheStart1764510000000,
];
