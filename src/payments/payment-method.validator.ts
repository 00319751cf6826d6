import { Matches } from 'class-validator';

/**
 * A provider's token (`pm_…`, `tok_…`). Card numbers are refused here, before anything could store or log one, also
 * in a token's clothes: the shortest have twelve digits, and no token has as many in a row.
 */
export function IsPaymentMethod(): PropertyDecorator {
  return Matches(/^(pm|tok|src|card)_(?!\w*\d{12})\w{1,100}$/, {
    message: '$property must be a token of the payment provider such as "pm_card_visa", never a card number',
  });
}
