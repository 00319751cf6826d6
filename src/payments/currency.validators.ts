import { Transform } from 'class-transformer';
import { buildMessage, ValidateBy, type ValidationOptions } from 'class-validator';
import { isCurrency, MAX_AMOUNT } from './currency.js';

/** A currency that the provider charges in. Clients may write it in either case; it is stored in lower case. */
export function IsCurrency(options?: ValidationOptions): PropertyDecorator {
  const validate = ValidateBy(
    {
      name: 'isCurrency',
      validator: {
        validate: isCurrency,
        defaultMessage: buildMessage(
          (each) => `${each}$property must be a currency code such as "eur"`,
          options,
        ),
      },
    },
    options,
  );
  return (target, property) => {
    LowerCase(target, property);
    validate(target, property);
  };
}

/**
 * The price of one item: an integer from 0 in the smallest unit. What is charged is a sum of these, and a currency
 * may ask more of it: check that with `amountProblem(sum, currency)`.
 */
export function IsUnitAmount(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isUnitAmount',
      validator: {
        validate: (value: unknown) => Number.isInteger(value) && inRange(value as number),
        defaultMessage: buildMessage(
          (each) =>
            `${each}$property must be an integer from 0 to ${MAX_AMOUNT} in the currency's smallest unit`,
          options,
        ),
      },
    },
    options,
  );
}

const inRange = (amount: number) => amount >= 0 && amount <= MAX_AMOUNT;

const LowerCase = Transform(({ value }: { value: unknown }) =>
  typeof value === 'string' ? value.toLowerCase() : value,
);
