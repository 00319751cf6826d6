import { Reflector } from '@nestjs/core';

/** Leaves `request.body` the bytes that came, for routes that verify a signature over them. */
export const RawBody = Reflector.createDecorator<true>({ transform: () => true });
