import * as answers from './answers.js';
import type { Facts } from './facts.js';
import * as mail from './mail.js';
import * as money from './money.js';
import type { Violation } from './violation.js';

type Promised = (facts: Facts) => Violation[];

/** What holds at every moment, whatever is broken meanwhile; each function is one promise. */
const ALWAYS: readonly Promised[] = [
  answers.everyAnswerIsTheSame,
  answers.everyReplyIsWhatIsStored,
  answers.changedBodiesAreRefused,
  answers.ownBodiesAreAccepted,
  answers.noAnswerIsAnAccident,
  money.oneExecutionPerKey,
  money.nothingIsDoneTwice,
  money.noMadeChargeIsDeclined,
  money.everySuccessWasMade,
  money.paidMeansPaid,
  money.refundsAreAccountedFor,
  mail.everyReceiptIsStaged,
  nobodyWroteOnAnothersKey,
];

/** What holds besides once all has come to its end. */
const AT_REST: readonly Promised[] = [
  answers.everyClientWasAnswered,
  money.everyProviderChargeIsRecorded,
  money.everyProviderRefundIsRecorded,
  money.booksAgree,
  mail.everyReceiptArrived,
];

/** @returns every promise that the facts break, at whatever moment they were gathered */
export function checkAlways(facts: Facts): Violation[] {
  return ALWAYS.flatMap((promised) => promised(facts));
}

/** @param facts gathered when nothing is under way any more */
export function checkAtRest(facts: Facts): Violation[] {
  return [...ALWAYS, ...AT_REST].flatMap((promised) => promised(facts));
}

function nobodyWroteOnAnothersKey({ audit }: Facts): Violation[] {
  return audit.map(({ what, tenant, key, process }) => ({ what: `${process}: key ${what}`, tenant, key }));
}
