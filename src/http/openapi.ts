import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';

export function describeApi(app: INestApplication): OpenAPIObject {
  const document = SwaggerModule.createDocument(app, INFO);
  document.components = {
    ...document.components,
    schemas: { ...document.components?.schemas, Problem: PROBLEM },
  };
  return document;
}

const INFO = new DocumentBuilder()
  .setTitle('Checkout API')
  .setDescription(
    'Orders, charges and checkouts that may be retried: the same Idempotency-Key never charges twice.',
  )
  .setVersion('1')
  .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'The API key of a tenant.' })
  .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'The token of an operator.' }, 'operator')
  .addSecurityRequirements('bearer')
  .addGlobalResponse({
    status: 'default',
    description:
      'Any error: a problem (RFC 9457) whose member `error` is the object that Stripe’s clients know.',
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  })
  .build();

const text = (description: string) => ({ type: 'string', description });

const PROBLEM = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'error'],
  properties: {
    type: { type: 'string', format: 'uri-reference', description: 'Names the kind of problem.' },
    title: text('The same for every problem of this code.'),
    status: { type: 'integer', description: 'The HTTP status again.' },
    detail: text('What was wrong this time, and what to do about it.'),
    code: text('Stable, for programs.'),
    errors: {
      type: 'array',
      description: 'Every offending member, where the request was not valid.',
      items: {
        type: 'object',
        required: ['param', 'message'],
        properties: { param: text('Such as `items[0].quantity`.'), message: text('What is wrong with it.') },
      },
    },
    error: {
      type: 'object',
      required: ['type', 'code', 'message'],
      properties: {
        type: {
          type: 'string',
          enum: ['api_error', 'card_error', 'idempotency_error', 'invalid_request_error'],
        },
        code: text('The same code.'),
        message: text('The same as `detail`.'),
        param: text('The member of the request that is at fault.'),
        decline_code: text('Why the issuer declined, in its own code.'),
        doc_url: text('Where to read more.'),
      },
    },
  },
};
