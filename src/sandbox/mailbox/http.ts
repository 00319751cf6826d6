import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { readFault, type Faults } from './faults.js';
import type { MailStore } from './mail-store.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

/** The mails as a page for people and as JSON for programs. */
export async function httpServer(store: MailStore, faults: Faults): Promise<Server> {
  const page = await readFile(new URL('./page.html', import.meta.url));
  const routes: Record<string, Handler> = {
    'GET /': (_request, response) => void response.writeHead(200, PAGE_HEADERS).end(page),
    'GET /messages': (_request, response) => sendJson(response, 200, { messages: store.all }),
    'DELETE /messages': async (_request, response) => {
      await store.clear();
      sendJson(response, 200, { messages: [] });
    },
    'GET /_faults': (_request, response) => sendJson(response, 200, { met: faults.met }),
    'POST /_faults': async (request, response) => {
      const fault = readFault(await json(request));
      faults.add(fault);
      sendJson(response, 201, fault);
    },
    'DELETE /_faults': (_request, response) => {
      faults.clear();
      sendJson(response, 200, {});
    },
  };
  return createServer((request, response) => {
    const handler = routes[`${request.method} ${request.url?.split('?')[0]}`] ?? notFound;
    Promise.resolve()
      .then(() => handler(request, response))
      .catch((error: Error) => sendJson(response, 400, { error: error.message }));
  });
}

function notFound(_request: IncomingMessage, response: ServerResponse): void {
  sendJson(response, 404, { error: 'There are GET / and GET /messages' });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}

/** A mail is a stranger's page: it is shown in a frame that runs no script, and nothing outside is fetched. */
const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; connect-src 'self'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'",
};
