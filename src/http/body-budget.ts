import { Injectable } from '@nestjs/common';
import { getHeapStatistics } from 'node:v8';
import { BODY_LIMIT } from './problem.filter.js';
import { overloaded } from './problems.js';

/** What a body takes of the heap for each of its bytes until it is answered: parsed, canonical, as parameters, in the reply. */
const HEAP_PER_BYTE = 16;

/** What a request takes besides. */
const HEAP_PER_REQUEST = 32 * 1024;

/** The rest is for the service itself, 40 MB when idle, and for garbage. */
const PART_OF_HEAP = 1 / 8;

/**
 * How much work this process takes on at once. Where it would be more than the heap has room for it refuses, before it
 * runs out of memory and everything in work is lost. A heap of 2 GiB has room for some thousands of checkouts.
 */
@Injectable()
export class BodyBudget {
  private free = Math.max(
    worth(BODY_LIMIT), // or such a body would never be taken
    getHeapStatistics().heap_size_limit * PART_OF_HEAP,
  );

  /** @returns what gives back what a body of `bytes` takes. @throws Problem 503 `overloaded` */
  take(bytes: number): () => void {
    const taken = worth(bytes);
    if (taken > this.free) throw overloaded();
    this.free -= taken;
    return () => void (this.free += taken);
  }
}

function worth(bytes: number): number {
  return HEAP_PER_REQUEST + HEAP_PER_BYTE * bytes;
}
