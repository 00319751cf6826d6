import { Matches } from 'class-validator';

export class KeyQueryDto {
  /** The key: unquoted as it is, or between quotes as the header may have it. */
  @Matches(/^(?:[\x20-\x7e]{1,255}|"[\x20-\x7e]{1,511})$/, {
    message: 'key must be 1 to 255 printable ASCII characters',
  })
  key!: string;
}
