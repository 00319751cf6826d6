import type { Mail } from '../mailbox/mail.js';
import type { Recipe } from './recipe.js';

/** The mailbox: what goes wrong with it, and what has arrived. */
export class MailboxControl {
  constructor(private readonly url: string) {}

  async arrange({ mail }: Recipe): Promise<void> {
    await this.clear();
    if (mail === 'up') return;
    const body = JSON.stringify({ kind: 'defer', times: 3 });
    await fetch(`${this.url}/_faults`, { method: 'POST', body });
  }

  async clear(): Promise<void> {
    await fetch(`${this.url}/_faults`, { method: 'DELETE' });
  }

  async messages(): Promise<readonly Mail[]> {
    const response = await fetch(`${this.url}/messages`);
    return ((await response.json()) as { messages: Mail[] }).messages;
  }
}
