import type { Tx } from '../database/transaction.js';
import { Attempt } from './attempt.js';
import { Course, type Foreign } from './course.js';
import type { EngineSettings } from './engine-settings.js';
import type { KeyRow } from './idempotency-key.row.js';
import type { AnyOperation } from './operation.js';

/** An unfinished key that waits for a person. */
export interface HeldKey {
  readonly tenantId: string;
  readonly key: string;
  readonly version: number;
  /** The call that it waits at; none at a local phase, or where another build knows it. */
  readonly call: Foreign | undefined;
  /** What was frozen for the call. */
  readonly request: unknown;
  /** Notes on the business rows that the outcome is open again; commits with the decision. */
  readonly reopen: (tx: Tx) => Promise<void>;
}

/** @param operation undefined where this build does not know it */
export function heldKey(
  { tenantId, key }: { readonly tenantId: string; readonly key: string },
  row: KeyRow,
  operation: AnyOperation | undefined,
  settings: EngineSettings,
): HeldKey {
  const course = operation && new Course(operation, Attempt.resumed(tenantId, key, row, 0), {}, settings);
  const phase = course?.phaseAt(row.recovery_point);
  const call = phase?.kind === 'foreign' ? phase : undefined;
  return {
    tenantId,
    key,
    version: row.version,
    call,
    request: row.request,
    reopen: async (tx) => course && call?.doubt?.(tx, course.runWith(row.state), 'unknown'),
  };
}
