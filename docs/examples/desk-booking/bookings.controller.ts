import { Body, Controller, Param, Post } from '@nestjs/common';
import { IsISO8601, Matches } from 'class-validator';
import { Idempotent } from '../../../src/idempotency/idempotent.decorator.js';
import { BookDesk, type BookDeskInput } from './book-desk.operation.js';

class Desk {
  @Matches(/^[a-z0-9-]{1,20}$/)
  desk!: string;
}

class CreateBooking {
  @Matches(/^20\d\d-\d\d-\d\d$/)
  @IsISO8601({ strict: true })
  day!: string;
}

@Controller('desks/:desk/bookings')
export class BookingsController {
  @Post()
  @Idempotent(BookDesk)
  create(@Param() { desk }: Desk, @Body() { day }: CreateBooking): BookDeskInput {
    return { desk, day };
  }
}
