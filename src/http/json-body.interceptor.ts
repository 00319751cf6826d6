import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { finalize, type Observable } from 'rxjs';
import { BodyBudget } from './body-budget.js';
import { unsupportedMediaType } from './problems.js';
import { RawBody } from './raw-body.decorator.js';
import { parseStrictJson } from './strict-json.js';

/**
 * Turns the bytes of a body into its value. An interceptor, because those run after every guard: a stranger gets
 * 401, a bad key 400, and only then does anyone look at what the body says. Global, so that it comes before the
 * interceptors of a route.
 */
@Injectable()
export class JsonBodyInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly budget: BodyBudget,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (!takesBody(request) || this.wantsBytes(context)) return next.handle();
    const body = (request.body as Buffer | undefined) ?? NOTHING;
    const giveBack = this.budget.take(body.length);
    try {
      request.body = parseBody(body, request.headers);
    } catch (error) {
      giveBack();
      throw error;
    }
    return next.handle().pipe(finalize(giveBack));
  }

  private wantsBytes(context: ExecutionContext): boolean {
    return this.reflector.getAllAndOverride(RawBody, [context.getHandler(), context.getClass()]) === true;
  }
}

function takesBody({ method }: FastifyRequest): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

const NOTHING = Buffer.alloc(0);
const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i;

/** No body at all has no type that could be wrong: `curl -X POST` without `-d` is `{}`. */
function parseBody(bytes: Buffer, headers: FastifyRequest['headers']): unknown {
  if (bytes.length > 0) refuseOtherTypes(headers);
  return parseStrictJson(bytes);
}

function refuseOtherTypes(headers: FastifyRequest['headers']): void {
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    throw unsupportedMediaType('Send the body as Content-Type: application/json, in UTF-8.');
  }
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw unsupportedMediaType('Send the body uncompressed.');
  }
}
