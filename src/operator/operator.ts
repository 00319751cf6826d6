import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** A person who may decide. What the books show of them is a label, made from their token. */
export interface Operator {
  readonly label: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the operator guard. */
    operator?: Operator;
  }
}

/** The operator who asks: `decide(@CurrentOperator() operator: Operator)`. */
export const CurrentOperator = createParamDecorator((_data: undefined, context: ExecutionContext) => {
  const { operator } = context.switchToHttp().getRequest<FastifyRequest>();
  if (!operator) throw new Error('The operator guard comes before this route');
  return operator;
});
