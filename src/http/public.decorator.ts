import { Reflector } from '@nestjs/core';

/** Opens a route, or every route of a controller, to callers without an API key. */
export const Public = Reflector.createDecorator<true>({ transform: () => true });
