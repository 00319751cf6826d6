import { reaping } from '../background/reaping.js';

/** What was sent has served; what is due, or was given up, has not. */
export const SENT_MESSAGES = reaping({
  table: 'outbox_messages',
  key: 'id',
  since: 'sent_at',
  served: 'sent_at IS NOT NULL',
});
