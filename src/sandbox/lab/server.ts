import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Refusal } from '../refusal.js';
import { eventStream } from './event-stream.js';
import { refuse, SECURITY_HEADERS } from './guard.js';
import type { Live } from './live.js';
import { findPage, type PageFile } from './page-files.js';
import { CHOICES, readRecipe } from './recipe.js';
import type { Runs } from './runs.js';
import { composed, type Scenario } from './scenario.js';
import { findScenario, SCENARIOS } from './scenarios.js';

type Handler = (request: IncomingMessage, response: ServerResponse, id: string) => Promise<void> | void;

/** A recipe is a few words; what is longer is none. */
const MOST_BYTES = 4_096;

/** The page, what it may be asked for, and what it is told. */
export async function labServer(runs: Runs, live: Live, port: number): Promise<Server> {
  const page = await findPage();
  const routes: Record<string, Handler> = {
    'GET /scenarios': (_request, response) =>
      sendJson(response, 200, { scenarios: SCENARIOS, choices: CHOICES }),
    'GET /live': (request, response) =>
      eventStream(request, response, SECURITY_HEADERS, (send) => live.listen(send)),
    'GET /runs': (request, response, id) => {
      const run = runs.find(id);
      if (!run) return sendJson(response, 404, { error: 'That run is not remembered any more.' });
      eventStream(request, response, SECURITY_HEADERS, (send) => run.listen(send));
    },
    'POST /runs': async (request, response) => {
      const run = runs.begin(await readScenario(request));
      if (run) return sendJson(response, 202, { run: run.id });
      const { current } = runs;
      const error = `The lab is busy with “${current?.scenario.title}”: one scenario runs at a time.`;
      sendJson(response, 409, { error, run: current?.id });
    },
  };

  return createServer((request, response) => {
    const refusal = refuse(request, port);
    if (refusal !== undefined) return sendJson(response, 403, { error: refusal });
    const [, first = '', id = ''] = new URL(request.url ?? '/', 'http://lab').pathname.split('/');
    const file = request.method === 'GET' && id === '' ? page.get(`/${first}`) : undefined;
    const handler = file ? sendFile(file) : (routes[`${request.method} /${first}`] ?? notFound);
    Promise.resolve()
      .then(() => handler(request, response, id))
      .catch((error: Error) =>
        sendJson(response, error instanceof Refusal ? 400 : 500, { error: error.message }),
      );
  });
}

function sendFile({ type, url }: PageFile): Handler {
  return async (_request, response) => {
    const bytes = await readFile(url);
    response.writeHead(200, { ...SECURITY_HEADERS, 'Content-Type': type }).end(bytes);
  };
}

/** @throws Refusal */
async function readScenario(request: IncomingMessage): Promise<Scenario> {
  const { scenario, recipe } = (await readJson(request)) as { scenario?: unknown; recipe?: unknown };
  if (scenario === undefined) return composed(readRecipe(recipe));
  const found = typeof scenario === 'string' ? findScenario(scenario) : undefined;
  if (!found) throw new Refusal('There is no such scenario.');
  return found;
}

/** @throws Refusal */
async function readJson(request: IncomingMessage): Promise<object> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk as string;
    if (text.length > MOST_BYTES) throw new Refusal('That is too long to be a recipe.');
  }
  const value = parse(text);
  if (typeof value !== 'object' || value === null) throw new Refusal('Send a JSON object.');
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal('The body is not valid JSON.');
  }
}

function notFound(_request: IncomingMessage, response: ServerResponse): void {
  sendJson(response, 404, { error: 'There is nothing here.' });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const headers = { ...SECURITY_HEADERS, 'Content-Type': 'application/json; charset=utf-8' };
  response.writeHead(status, headers).end(JSON.stringify(body));
}
