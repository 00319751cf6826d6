import type { IncomingMessage, ServerResponse } from 'node:http';

/** Shorter than the patience of whatever may stand between. */
const STILL_HERE_MS = 15_000;

/** Server-sent events: each value as one line of JSON, until the browser goes. */
export function eventStream(
  request: IncomingMessage,
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  listen: (send: (value: unknown) => void) => () => void,
): void {
  response.writeHead(200, { ...headers, 'Content-Type': 'text/event-stream; charset=utf-8' });
  response.flushHeaders();
  const stillHere = setInterval(() => response.write(': still here\n\n'), STILL_HERE_MS);
  const stop = listen((value) => response.write(`data: ${JSON.stringify(value)}\n\n`));
  request.on('close', () => {
    clearInterval(stillHere);
    stop();
  });
}
