import { buildMessage, ValidateBy, type ValidationOptions } from 'class-validator';

/** A name for a payment method that the provider keeps, such as `pm_card_visa`. Digits alone are no name. */
const TOKEN = /^[a-z]{2,10}_\w{1,240}$/;

/** The shortest card numbers have twelve digits; no token of the provider has as many in a row. */
const CARD_NUMBER = /\d{12}/;

/** A payment method token; a card number is refused before it can reach a log or a row. */
export function IsPaymentMethod(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isPaymentMethod',
      validator: {
        validate: (value: unknown) =>
          typeof value === 'string' && TOKEN.test(value) && !CARD_NUMBER.test(value),
        defaultMessage: buildMessage(
          (each) =>
            `${each}$property must be a payment method token such as "pm_card_visa", never a card number`,
          options,
        ),
      },
    },
    options,
  );
}
