import { Matches } from 'class-validator';

export class KeyQueryDto {
  /** The key, unquoted. */
  @Matches(/^[\x20-\x7e]{1,255}$/, { message: 'key must be 1 to 255 printable ASCII characters' })
  key!: string;
}
