import { Matches } from 'class-validator';

/** A provider's token (`pm_…`, `tok_…`). Card numbers are refused here, before anything could store or log one. */
export function IsPaymentMethod(): PropertyDecorator {
  return Matches(/^(pm|tok|src|card)_[A-Za-z0-9_]{1,100}$/, {
    message: '$property must be a token of the payment provider such as "pm_card_visa", never a card number',
  });
}
