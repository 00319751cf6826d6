import { reaping } from '../background/reaping.js';

/** What was applied has served; what waits, or was given up, has not. */
export const APPLIED_MESSAGES = reaping({
  table: 'inbox_messages',
  key: 'source, id',
  since: 'applied_at',
  served: 'applied_at IS NOT NULL',
});
