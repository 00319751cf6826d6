import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { describeApi } from './openapi.js';

const require = createRequire(import.meta.url);

/**
 * The API's description at `/docs/openapi.json`, and at `/docs` a page to read and try it. The page comes whole
 * from here: it works where there is no internet, and its policy lets nothing else in.
 */
export function serveDocs(app: NestFastifyApplication): void {
  const server = app.getHttpAdapter().getInstance();
  let description: string | undefined; // made on first use: it needs every route, and most processes are never asked
  serve(server, '/docs', 'text/html', () => PAGE);
  serve(server, '/docs/start.js', 'text/javascript', () => START);
  serve(server, '/docs/swagger-ui.css', 'text/css', () => asset('swagger-ui.css'));
  serve(server, '/docs/swagger-ui-bundle.js', 'text/javascript', () => asset('swagger-ui-bundle.js'));
  serve(
    server,
    '/docs/openapi.json',
    'application/json',
    () => (description ??= JSON.stringify(describeApi(app))),
  );
}

function serve(
  server: FastifyInstance,
  path: string,
  type: string,
  content: () => string | Promise<string>,
): void {
  server.get(path, async (_request, reply) => {
    reply.header('Content-Security-Policy', POLICY).type(`${type}; charset=utf-8`);
    return content();
  });
}

function asset(name: string): Promise<string> {
  return readFile(require.resolve(`swagger-ui-dist/${name}`), 'utf8');
}

/** Swagger UI writes style attributes and draws its icons from data URLs; scripts come from files only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
].join(';');

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Checkout API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <div id="docs"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

const START = `SwaggerUIBundle({ url: '/docs/openapi.json', dom_id: '#docs', persistAuthorization: true, validatorUrl: null });
`;
