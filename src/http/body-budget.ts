import { Injectable } from '@nestjs/common';
import { getHeapStatistics } from 'node:v8';
import { BODY_LIMIT } from './problem.filter.js';
import { overloaded } from './problems.js';

/**
 * How much of the heap the bodies in work may be: parsed, canonical and as a parameter each is kept until its answer is
 * sent, and takes several times its bytes. A heap of 2 GiB has room for 32 MiB of them, tens of thousands of checkouts.
 */
const PART_OF_HEAP = 1 / 64;

/** The bytes of the bodies that this process works on. Where they would be too many it refuses, before it runs out of memory. */
@Injectable()
export class BodyBudget {
  private free = Math.max(BODY_LIMIT, Math.floor(getHeapStatistics().heap_size_limit * PART_OF_HEAP));

  /** @returns what gives the bytes back. @throws Problem 503 `overloaded` */
  take(bytes: number): () => void {
    if (bytes > this.free) throw overloaded();
    this.free -= bytes;
    return () => void (this.free += bytes);
  }
}
