import { applyDecorators, Res, SetMetadata, UseGuards, UseInterceptors, type Type } from '@nestjs/common';
import { ApiExtension, ApiHeader } from '@nestjs/swagger';
import { Problems } from '../http/problems.decorator.js';
import { IdempotencyKeyGuard } from './idempotency-key.guard.js';
import {
  fingerprintUnknown,
  keyInUse,
  keyInvalid,
  keyMismatch,
  keyMissing,
  keyUnderReview,
  operationInterrupted,
  recoveryPointUnknown,
  replyErased,
} from './idempotency.problems.js';
import { IdempotencyInterceptor } from './idempotency.interceptor.js';
import { sealedElsewhere } from './sealing.problems.js';
import {
  IDEMPOTENT_ROUTE,
  type IdempotentOptions,
  type IdempotentRoute,
  type OperationHolder,
} from './idempotent-route.js';

/**
 * Makes a route safe to retry: it needs an `Idempotency-Key`, and the handler only turns the validated request into
 * the operation's input, which it returns. The operation runs once per key, whichever request or process finishes
 * it, and its stored reply is what every request with the key is sent.
 *
 *   @Post()
 *   @Idempotent(Checkout)
 *   create(@Body() body: CreateCheckout): CheckoutInput { return toInput(body); }
 */
export function Idempotent(holder: Type<OperationHolder>, options: IdempotentOptions = {}): MethodDecorator {
  return applyDecorators(
    SetMetadata(IDEMPOTENT_ROUTE, { holder, ...options } satisfies IdempotentRoute),
    UseGuards(IdempotencyKeyGuard),
    UseInterceptors(IdempotencyInterceptor),
    sentByTheInterceptor,
    ...documentation(options),
  );
}

/** Tells Nest that the response is handled: a replay is sent with its own status, as bytes. */
function sentByTheInterceptor(
  target: object,
  property: string | symbol,
  descriptor: PropertyDescriptor,
): void {
  Res()(target, property, (descriptor.value as (...parameters: unknown[]) => unknown).length);
}

function describeHeader(notFingerprinted: readonly string[]): string {
  return [
    'Required. Names one intent, not one attempt: 1 to 255 characters, bare (`order-1001:pay`) or quoted.',
    'Scope: unique per tenant, whatever the API key; not shared between regions that have databases of their own.',
    'Compared: method, path, query and the RFC 8785 form of the JSON body as it was sent.',
    ...(notFingerprinted.length > 0 ? [`Not compared: ${notFingerprinted.join(', ')}.`] : []),
    'Stored and replayed byte for byte: 2xx, declines (402) and every other final refusal decided by the operation.',
    'Not stored: refusals before anything was done, and 5xx; the key resumes where it stopped.',
    'Retention: 72 hours from the reply by default (`x-idempotency-key.retentionHours`); after that the key is new.',
    'No personal data in keys.',
  ].join(' ');
}

function documentation({ notFingerprinted = [] }: IdempotentOptions): MethodDecorator[] {
  return [
    ApiHeader({
      name: 'Idempotency-Key',
      required: true,
      description: describeHeader(notFingerprinted),
      schema: {
        type: 'string',
        minLength: 1,
        maxLength: 255,
        example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
      },
    }),
    ApiExtension('x-not-fingerprinted', [...notFingerprinted]),
    Problems(...PROBLEMS),
  ];
}

/** Whatever the operation is. The key is still free after 400, and the same key goes on after 409 in use and 5xx. */
const PROBLEMS = [
  keyMissing(),
  keyInvalid('The key has 256 characters; at most 255 are allowed.'),
  keyInUse(2),
  keyUnderReview(),
  keyMismatch(['paymentMethod']),
  replyErased(201, null),
  operationInterrupted(),
  fingerprintUnknown(),
  recoveryPointUnknown(),
  sealedElsewhere('2026-01'),
];
