import { Injectable } from '@nestjs/common';
import { changesOneRow, statement } from '../../../src/database/statement.js';
import { Problem } from '../../../src/http/problem.js';
import {
  atomicPhase,
  foreignCall,
  operation,
  recoveryPoint,
  refusal,
  reply,
  type Point,
} from '../../../src/idempotency/operation.js';
import { Door, type CodeRequest } from './door.js';

export interface BookDeskInput {
  readonly desk: string;
  /** `2026-12-24` */
  readonly day: string;
}

interface BookDeskPoints {
  started: Point<undefined>;
  booked: Point<undefined, CodeRequest>;
}

/** A desk for a day, and the code that opens the door to it. */
@Injectable()
export class BookDesk {
  constructor(private readonly door: Door) {}

  readonly operation = operation<BookDeskInput, BookDeskPoints>('book_desk', {
    started: atomicPhase(async (tx, { tenantId: team, input: { desk, day } }) => {
      if ((await tx.execute(BOOK, [team, desk, day])) === 0) return refusal(deskTaken(desk, day));
      return recoveryPoint('booked', undefined, { team, desk, day });
    }),

    booked: foreignCall({
      step: 'code',
      call: (request, derivedKey) => this.door.issue(request, derivedKey),
      find: (request) => this.door.find(request),
      record: async (tx, { code }, { tenantId: team, input: { desk, day } }) => {
        tx.sendOne(NOTE_CODE, [team, desk, day, code]);
        return reply(201, { desk, day, code });
      },
    }),
  });
}

function deskTaken(desk: string, day: string): Problem {
  return new Problem({
    status: 409,
    code: 'desk_taken',
    title: 'The desk is taken',
    detail: `Desk ${desk} is booked on ${day} already.`,
  });
}

const BOOK = statement(
  'booking_insert',
  'INSERT INTO bookings (team_id, desk, day) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
);

const NOTE_CODE = changesOneRow(
  'booking_note_code',
  'UPDATE bookings SET code = $4 WHERE team_id = $1 AND desk = $2 AND day = $3',
);
