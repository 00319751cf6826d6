import type { Type } from '@nestjs/common';
import type { AnyOperation } from './operation.js';

/** A provider that holds an operation: `@Injectable() class Checkout { readonly operation = operation(…) }`. */
export interface OperationHolder {
  readonly operation: AnyOperation;
}

export interface IdempotentOptions {
  /** JSON pointers of top-level members that may differ from one retry to the next, such as a client's clock. */
  readonly notFingerprinted?: readonly string[];
}

export interface IdempotentRoute extends IdempotentOptions {
  readonly holder: Type<OperationHolder>;
}

/** Under which Nest keeps what `@Idempotent()` was told. */
export const IDEMPOTENT_ROUTE = Symbol('idempotent route');
