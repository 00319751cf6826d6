import { applyDecorators } from '@nestjs/common';
import { IsEmail, Matches } from 'class-validator';

/**
 * An address that a receipt can be sent to. Quoted local parts and the characters that have a meaning in a mail's
 * header are valid on paper; mail servers refuse them, and the receipt of a paid order would never arrive.
 */
export function IsMailAddress(): PropertyDecorator {
  const message = '$property must be a mail address such as "ada@example.com"';
  return applyDecorators(
    IsEmail({ allow_utf8_local_part: true }, { message }),
    Matches(/^[^\s"(),:;<>@[\\\]]{1,64}@[^\s"(),:;<>@[\\\]]{1,189}$/, { message }),
  );
}
