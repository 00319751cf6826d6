import { applyDecorators, Res, SetMetadata, UseGuards, UseInterceptors, type Type } from '@nestjs/common';
import { ApiExtension, ApiHeader, ApiResponse } from '@nestjs/swagger';
import { IdempotencyKeyGuard } from './idempotency-key.guard.js';
import { IdempotencyInterceptor } from './idempotency.interceptor.js';
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

function documentation({ notFingerprinted = [] }: IdempotentOptions): MethodDecorator[] {
  return [
    ApiHeader({
      name: 'Idempotency-Key',
      required: true,
      description:
        'Names one intent. 1 to 255 characters, bare or quoted; unique per tenant; kept for 72 hours after the reply ' +
        'by default. A retry with the same key and the same request gets the stored reply, byte for byte. Method, ' +
        'path, query and the canonical JSON body make the request' +
        (notFingerprinted.length > 0 ? `; not compared: ${notFingerprinted.join(', ')}.` : '.') +
        ' No personal data in keys.',
      schema: {
        type: 'string',
        minLength: 1,
        maxLength: 255,
        example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
      },
    }),
    ApiExtension('x-not-fingerprinted', [...notFingerprinted]),
    problem(
      400,
      'The key is missing or malformed, or the body is not valid. Nothing is stored: the key is still free.',
    ),
    problem(401, 'No valid API key. Nothing is looked up.'),
    problem(409, 'A request with this key is in progress (Retry-After), or a business rule refuses.'),
    problem(415, 'The body is not JSON.'),
    problem(422, 'The key was used with another request; `differs` names what differs.'),
    problem(503, 'Not finished. Retry with the same key (Retry-After): it resumes where it stopped.'),
  ];
}

function problem(status: number, description: string): MethodDecorator {
  return ApiResponse({
    status,
    description,
    content: { 'application/problem+json': { schema: { type: 'object' } } },
  });
}
