import { createHmac, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import type { Operator } from './operator.js';

/** Enough to tell the people of one service apart, too little to find a token by. */
const LABEL_DIGITS = 8;

/** The tokens that OPERATOR_TOKENS names, kept as keyed hashes. Where it names none, nobody is an operator. */
@Injectable()
export class OperatorTokens {
  private readonly hashes: readonly Buffer[];

  constructor(private readonly config: Config) {
    this.hashes = config.operatorTokens.map((token) => this.hash(token));
  }

  operatorOf(token: string): Operator | undefined {
    const hash = this.hash(token);
    // Every token is compared, each in constant time: how long it takes says nothing.
    const [found] = this.hashes.filter((each) => timingSafeEqual(each, hash));
    return found && { label: `operator ${found.toString('hex').slice(0, LABEL_DIGITS)}` };
  }

  private hash(token: string): Buffer {
    return createHmac('sha256', this.config.hashSecret).update(token).digest();
  }
}
