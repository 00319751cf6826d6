import { IsString, Length, Matches } from 'class-validator';
import { IsPaymentMethod } from '../payments/payment-method.validator.js';

export class CreateChargeDto {
  /**
   * The order to pay.
   * @example "ord_01kbxyz..."
   */
  @IsString()
  @Length(1, 100)
  @Matches(/^ord_/, { message: 'orderId must be the id of an order' })
  orderId!: string;

  /**
   * A token of the payment provider; never a card number.
   * @example "pm_card_visa"
   */
  @IsPaymentMethod()
  paymentMethod!: string;
}
