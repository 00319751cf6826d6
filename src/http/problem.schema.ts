const text = (description: string) => ({ type: 'string', description });

/** What every problem has; `code` says which further members there are. */
export const PROBLEM_SCHEMA = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'error'],
  properties: {
    type: { type: 'string', format: 'uri-reference', description: 'Names the kind of problem.' },
    title: text('The same for every problem of this code.'),
    status: { type: 'integer', description: 'The HTTP status again.' },
    detail: text('What was wrong this time, and what to do about it.'),
    code: text('Stable, for programs.'),
    differs: {
      type: 'array',
      description: 'The parts of the request that are not as they were first sent under the key.',
      items: { type: 'string' },
    },
    orderId: text('The order that it is about.'),
    orderStatus: text('How that order stands.'),
    chargeId: text('The charge that it is about.'),
    refundId: text('The refund that it is about.'),
    amountLeft: { type: 'integer', description: 'What is left to refund, in the smallest unit.' },
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
      additionalProperties: true,
    },
  },
  additionalProperties: true,
};
