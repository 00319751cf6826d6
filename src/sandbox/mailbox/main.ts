import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { HOST } from '../settings.js';
import { Faults } from './faults.js';
import { httpServer } from './http.js';
import { MailStore } from './mail-store.js';
import { smtpServer } from './smtp.js';

/**
 * A mailbox that takes every mail, as a process of its own: SMTP on SMTP_PORT, the mails on MAILBOX_PORT.
 * With DATA_DIR it keeps them over a restart.
 */
process.once('disconnect', () => process.exit(0)); // whoever started it is gone; what was not confirmed comes again

const { DATA_DIR, SMTP_PORT = '1025', MAILBOX_PORT = '1080' } = process.env;

const store = await MailStore.open(DATA_DIR && join(DATA_DIR, 'mailbox'));
const faults = new Faults();
const smtp = smtpServer(store, faults);
const http = await httpServer(store, faults);

smtp.on('error', refuseIfTaken('SMTP_PORT', SMTP_PORT));
http.on('error', refuseIfTaken('MAILBOX_PORT', MAILBOX_PORT));
smtp.listen(Number(SMTP_PORT), HOST);
http.listen(Number(MAILBOX_PORT), HOST);
await Promise.all([once(smtp.server, 'listening'), once(http, 'listening')]);

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop);
console.log(`Mailbox ready: smtp://${HOST}:${portOf(smtp.server)} http://${HOST}:${portOf(http)}`);

function stop(): void {
  http.close();
  http.closeAllConnections();
  smtp.close(() => process.exit(0)); // mails on their way get a second to arrive
}

/** Servers report more than this as errors, such as clients that hang up: those are no reason to stop. */
function refuseIfTaken(name: string, port: string) {
  return ({ code, message }: NodeJS.ErrnoException): void => {
    if (code !== 'EADDRINUSE' && code !== 'EACCES') return console.error(message);
    console.error(`${name} ${port} cannot be listened on (${code}): set ${name} to a free port.`);
    process.exit(1);
  };
}

function portOf(server: { address(): AddressInfo | string | null }): number {
  return (server.address() as AddressInfo).port;
}
