import { setTimeout as sleep } from 'node:timers/promises';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import type { Faults } from './faults.js';
import type { MailStore } from './mail-store.js';
import { readMail } from './mail.js';

/** Receives mail for anybody, without a password and without TLS: it listens on this machine only. */
export function smtpServer(store: MailStore, faults: Faults): SMTPServer {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    closeTimeout: 1_000,
    size: LARGEST_MAIL,
    onRcptTo(_address, _session, answer) {
      answer(refusalOf(faults));
    },
    onData(stream, session, answer) {
      receive(stream, session).then(() => answer(), answer);
    },
  });

  async function receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> {
    const mail = await readMail(stream);
    if (stream.sizeExceeded) throw smtpError(552, 'The mail is too large');
    const fault = faults.take('delay', 'drop');
    await store.add(mail);
    if (fault?.kind === 'delay') await sleep(fault.delayMs);
    if (fault?.kind === 'drop') cut(session);
  }

  function cut({ id }: SMTPServerSession): void {
    for (const connection of server.connections as Set<{ id: string; _socket: { destroy(): void } }>) {
      if (connection.id === id) connection._socket.destroy();
    }
  }

  return server;
}

function refusalOf(faults: Faults): Error | undefined {
  const fault = faults.take('reject', 'defer');
  if (!fault) return undefined;
  return fault.kind === 'reject' ? smtpError(550, 'No such mailbox here') : smtpError(451, 'Try again later');
}

function smtpError(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

const LARGEST_MAIL = 10 * 1024 * 1024;
