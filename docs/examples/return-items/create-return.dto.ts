import { IsInt, Max, Min } from 'class-validator';

export class CreateReturnDto {
  /** Which line of the order, from 0. */
  @Max(1_000)
  @Min(0)
  @IsInt()
  line!: number;

  /** How many of it come back. */
  @Max(1_000_000)
  @Min(1)
  @IsInt()
  quantity!: number;
}
