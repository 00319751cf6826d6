import { CreateOrderDto } from '../orders/create-order.dto.js';
import { IsPaymentMethod } from '../payments/payment-method.validator.js';

export class CreateCheckoutDto extends CreateOrderDto {
  /**
   * A token of the payment provider; never a card number.
   * @example "pm_card_visa"
   */
  @IsPaymentMethod()
  paymentMethod!: string;
}
