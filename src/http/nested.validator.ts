import { applyDecorators, type Type } from '@nestjs/common';
import { Type as Typed } from 'class-transformer';
import { IsObject, ValidateNested } from 'class-validator';

/** A member that is one object of `type`. class-validator's own rule would take an array of them for one. */
export function IsNested(type: () => Type): PropertyDecorator {
  return nested(type, false);
}

/** A member that is an array whose elements are objects of `type`. */
export function AreNested(type: () => Type): PropertyDecorator {
  return nested(type, true);
}

function nested(type: () => Type, each: boolean): PropertyDecorator {
  return applyDecorators(
    IsObject({ each, message: '$property must be an object' }),
    ValidateNested({ each, message: '$property must be an object' }),
    Typed(type),
  );
}
