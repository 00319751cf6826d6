import type { FastifyReply, FastifyRequest } from 'fastify';
import { typeidUnboxed } from 'typeid-js';

/** Ours alone: an id from the client could be anything, and in the logs it would be believed. */
export function newRequestId(): string {
  return typeidUnboxed('req');
}

/** Every answer names its request, so that a client's complaint leads to the line in the log. */
export function nameRequest(request: FastifyRequest, reply: FastifyReply): void {
  reply.raw.setHeader('Request-Id', request.id);
}
