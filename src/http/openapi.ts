import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { Config } from '../config/config.js';
import { shareExamples } from './openapi-examples.js';
import { asJsonSchema } from './openapi-schemas.js';
import { BODY_LIMIT } from './problem.filter.js';
import { problemResponse, problemResponses, type Responses } from './problem-responses.js';
import { PROBLEM_SCHEMA } from './problem.schema.js';
import * as problems from './problems.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

/** The API as OpenAPI 3.1, from the routes and what their decorators and comments say. */
export function describeApi(app: INestApplication): OpenAPIObject {
  const document = asSent(SwaggerModule.createDocument(app, INFO, { operationIdFactory }));
  document.components!.schemas!['Problem'] = PROBLEM_SCHEMA;
  for (const [method, operation] of operationsOf(document)) addWhatAllShare(method, operation);
  const described = asJsonSchema(shareExamples(document));
  return Object.assign(described, { 'x-idempotency-key': idempotencyKeys(app.get(Config)) });
}

/** Dates become text, and what several routes share becomes each one's own. */
function asSent(document: OpenAPIObject): OpenAPIObject {
  return JSON.parse(JSON.stringify(document)) as OpenAPIObject;
}

/** For programs; people read the same beside each route. */
function idempotencyKeys({ retentionHours }: Config): object {
  return { header: 'Idempotency-Key', minLength: 1, maxLength: 255, scope: 'tenant', retentionHours };
}

function operationIdFactory(controller: string, method: string): string {
  const name = controller.replace(/Controller$/, '');
  return `${name[0]!.toLowerCase()}${name.slice(1)}.${method}`;
}

function operationsOf({ paths }: OpenAPIObject): [method: string, Operation][] {
  return Object.values(paths).flatMap((methods) => Object.entries(methods) as [string, Operation][]);
}

/** What may be answered before a route is reached, or whatever it does. */
function addWhatAllShare(method: string, operation: Operation): void {
  const { security } = operation;
  const isSigned = security?.length === 0; // its body is the sender's own: kept as bytes
  const isTenants = !security || security.some((scheme) => 'bearer' in scheme);
  const shared = problemResponses([
    problems.malformedRequest(
      'The request cannot be read: its URL, headers or length contradict themselves.',
    ),
    ...(isTenants ? [problems.unauthenticated()] : []),
    problems.rateLimited(isTenants ? 'tenant' : 'address', 1),
    ...(method === 'get' || isSigned ? [] : WITH_BODY), // one that is not asked for is read all the same
    problems.internalError(),
    problems.storeUnavailable(),
    problems.shuttingDown(),
  ]);
  operation.responses = merge(shared, operation.responses);
  for (const response of Object.values(operation.responses)) addHeader(response as object);
}

const WITH_BODY = [
  problems.invalidJson('The body has a member twice: "currency".', 'currency'),
  problems.cardNumberRefused('metadata.note'),
  problems.bodyTooLarge(BODY_LIMIT),
  problems.unsupportedMediaType('Send the body as Content-Type: application/json, in UTF-8.'),
  problems.overloaded(),
];

function merge(shared: ReturnType<typeof problemResponses>, own: Responses): Responses {
  const merged: Responses = { ...own };
  for (const [status, response] of Object.entries(shared)) {
    const known = merged[status] as typeof response | undefined;
    merged[status] = known ? both(known, response) : response;
  }
  return merged;
}

function both<Response extends ReturnType<typeof problemResponse>>(
  own: Response,
  shared: Response,
): Response {
  const [ours, theirs] = [own, shared].map(({ content }) => content['application/problem+json']);
  return {
    description: `${own.description} Or: ${shared.description}`,
    headers: { ...shared.headers, ...own.headers },
    content: {
      'application/problem+json': {
        ...ours!,
        examples: { ...ours!.examples, ...theirs!.examples },
      },
    },
  } as Response;
}

function addHeader(response: { headers?: object }): void {
  const { headers } = response;
  Object.assign(response, { headers: { ...headers, 'Request-Id': REQUEST_ID } });
}

const REQUEST_ID = {
  description: 'Names this request in the logs.',
  schema: { type: 'string', example: 'req_01kbn9sg6de5pv2m8w4f3tqz7x' },
};

/** Answered before the route is known, or before the request is read to its end. */
const UNROUTED = problemResponse([
  problems.routeNotFound(),
  problems.methodNotAllowed('PATCH', ['GET', 'PUT']),
  problems.requestTimedOut(),
  problems.uriTooLong(),
  problems.headersTooLarge(),
]);

const INFO = new DocumentBuilder()
  .setTitle('Checkout API')
  .setDescription(
    [
      'Orders, charges and checkouts that may be retried: the same `Idempotency-Key` never charges twice.',
      'Retry 409 with `Should-Retry: true`, 5xx, and every answer that is lost, under the same key, after `Retry-After` seconds.',
      'Without an `externalRef`, a retry after its key has expired is a new purchase.',
    ].join('\n\n'),
  )
  .setVersion('1')
  .setOpenAPIVersion('3.1.0')
  .setLicense('MIT', 'https://opensource.org/license/mit')
  .addServer('/', 'This service')
  .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'The API key of a tenant.' })
  .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'The token of an operator.' }, 'operator')
  .addSecurityRequirements('bearer')
  .addTag('checkouts', 'Order and payment in one request')
  .addTag('orders', 'What a customer buys')
  .addTag('charges', 'Payments of orders')
  .addTag('refunds', 'Money that goes back')
  .addTag('idempotency keys', 'How far a request has come')
  .addTag('webhooks', 'What the payment provider tells')
  .addTag('operator', 'What waits for a person')
  .addGlobalResponse({
    status: 'default',
    ...UNROUTED,
    description:
      'Any other error: a problem (RFC 9457) whose member `error` is the object that Stripe’s clients know.',
  })
  .build();
