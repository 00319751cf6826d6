import { Matches } from 'class-validator';
import { IsPaymentMethod } from '../payments/payment-method.validator.js';

export class CreateChargeDto {
  /**
   * The order to pay.
   * @example "ord_01kbn9sg6de5pv2m8w4f3tqz7x"
   */
  @Matches(/^ord_[0-9a-z]{26}$/, { message: 'orderId must be the id of an order' })
  orderId!: string;

  /**
   * A token of the payment provider; never a card number.
   * @example "pm_card_visa"
   */
  @IsPaymentMethod()
  paymentMethod!: string;
}
