import type { Kept } from '../background/reaper.js';
import { reaping } from '../background/reaping.js';

/** A key carries the end of its retention itself. Whoever has to decide about one, finished or not, must find it. */
export const EXPIRED_KEYS: Kept = {
  name: 'keys',
  days: 0,
  ...reaping({
    table: 'idempotency_keys',
    key: 'key',
    since: 'expires_at',
    served: "status = 'finished'",
    only: `NOT EXISTS (SELECT FROM reviews
     WHERE reviews.tenant_id = $1 AND subject_kind = 'idempotency_key' AND subject_id = candidate.id
       AND decided_at IS NULL)`,
  }),
};
