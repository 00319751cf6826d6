import { createTransport } from 'nodemailer';
import type { StagedMessage } from '../../../src/outbox/delivery.js';
import { receiptMail } from '../../../src/receipts/receipt-mail.js';
import { receiptFor, type ReceiptMessage } from '../../../src/receipts/receipt-message.js';
import { refundReceiptFor } from '../../../src/receipts/refund-receipt-message.js';

const STAGED_AT = new Date('2026-02-03T04:05:06Z');

const receipt = (more: Partial<ReceiptMessage> = {}): ReceiptMessage => ({
  orderId: 'ord_1',
  chargeId: 'ch_1',
  amount: 4900,
  currency: 'eur',
  email: 'ada@example.com',
  items: [
    { sku: 'beans', description: 'Coffee beans', quantity: 2, unitAmount: 2200 },
    { sku: 'filter', quantity: 10, unitAmount: 50 },
  ],
  ...more,
});

/** As the relay would hand it over: through JSON. */
const staged = (message: ReceiptMessage, tenantId = 'acme'): StagedMessage => {
  const { dedupeKey, topic, payload } = receiptFor(tenantId, message);
  const read = JSON.parse(JSON.stringify(payload)) as unknown;
  return {
    tenantId,
    id: 'msg_1',
    dedupeKey,
    topic,
    payload: read,
    sequence: 1,
    createdAt: STAGED_AT,
    attempts: 1,
  };
};

const mailOf = (message: ReceiptMessage, from = 'Shop <shop@example.com>', tenantId?: string) =>
  receiptMail(staged(message, tenantId), from) as {
    subject: string;
    text: string;
    html: string;
    messageId: string;
  };

/** As it goes over the wire: whom the server is told, and the names of the headers. */
async function sent(message: ReceiptMessage) {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' });
  const { envelope, message: raw } = await transport.sendMail(
    receiptMail(staged(message), 'Shop <shop@example.com>'),
  );
  const [head = ''] = (raw as Buffer).toString().split('\n\n');
  return { envelope, headers: [...head.matchAll(/^[\w-]+(?=:)/gm)].map(([name]) => name).sort() };
}

describe('A receipt', () => {
  it('lists what was bought, what it cost and how to name it', () => {
    expect(mailOf(receipt({ name: 'Ada' })).text).toBe(`Hello Ada,

We have received your payment. Thank you!

2 × Coffee beans  44.00 EUR
10 × filter        5.00 EUR
---------------------------
Total             49.00 EUR

Order:  ord_1
Charge: ch_1
Date:   2026-02-03 04:05 UTC
`);
  });

  it('says the same in HTML', () => {
    const { html } = mailOf(receipt({ name: 'Ada' }));
    for (const words of [
      'Hello Ada,',
      '2 × Coffee beans',
      '44.00 EUR',
      '10 × filter',
      '49.00 EUR',
      'Order: ord_1',
    ]) {
      expect(html).toContain(words);
    }
  });

  it.each([
    ['eur', 1234, '12.34 EUR'],
    ['jpy', 500, '500 JPY'],
    ['kwd', 5120, '5.120 KWD'],
    ['isk', 50_000, '500.00 ISK'],
    ['mga', 700, '700 MGA'],
    ['ugx', 500, '5.00 UGX'],
  ])('counts %s as the provider does', (currency, amount, shown) => {
    const mail = mailOf(
      receipt({ currency, amount, items: [{ sku: 'a', quantity: 1, unitAmount: amount }] }),
    );
    expect(mail.subject).toBe(`Your receipt: ${shown}`);
    expect(mail.text).toContain(`Total  ${shown}`);
    expect(mail.html).toContain(shown);
  });

  it('is dated by the payment, or else by when it was staged', () => {
    expect(receiptMail(staged(receipt()), 'shop@example.com').date).toEqual(STAGED_AT);
    const paidAt = '2026-01-01T10:20:30.000Z';
    expect(receiptMail(staged(receipt({ paidAt })), 'shop@example.com').date).toEqual(new Date(paidAt));
  });

  it('is the same mail each time it is made', () => {
    expect(mailOf(receipt())).toEqual(mailOf(receipt()));
  });

  describe('has a Message-ID', () => {
    it('of its order and tenant, at the domain of its sender', () => {
      expect(mailOf(receipt()).messageId).toBe('<receipt.ord_1.acme@example.com>');
      expect(mailOf(receipt(), 'root', 'globex').messageId).toBe('<receipt.ord_1.globex@localhost>');
    });

    it.each(['a b', 'a@b', 'a>b', 'ä', 'a.b', '🦀', 'a\r\nb', ''])(
      'that is valid whatever the tenant is called: %j',
      (tenantId) => {
        expect(mailOf(receipt(), undefined, tenantId || 'x').messageId).toMatch(
          /^<[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*@example\.com>$/,
        );
      },
    );

    it('that no other tenant and order share', () => {
      const ids = [
        ['a', 'ord_1'],
        ['1.a', 'ord'],
        ['a', 'ord.1'],
        ['=31', 'ord'],
        ['1', 'ord'],
      ].map(([tenantId, orderId]) => mailOf(receipt({ orderId: orderId! }), undefined, tenantId).messageId);
      expect(new Set(ids).size).toBe(ids.length);
    });
  });

  describe('shows what a client sent as words only', () => {
    const wicked = `<img src=x onerror=alert(1)> & "quotes" 'too'`;

    it('in HTML', () => {
      const { html } = mailOf(
        receipt({ name: wicked, items: [{ sku: wicked, quantity: 1, unitAmount: 1 }] }),
      );
      expect(html).not.toContain('<img');
      expect(
        html.split('&#60;img src=x onerror=alert(1)&#62; &#38; &#34;quotes&#34; &#39;too&#39;'),
      ).toHaveLength(3);
    });

    it('as they are in text', () => {
      expect(mailOf(receipt({ name: wicked })).text).toContain(`Hello ${wicked},`);
    });

    it.each(['\r\n', '\n\n', '\u2028', '\0', '\u202e', '\u061c'])(
      'on the line they belong to, without %j',
      (character) => {
        const name = `Ada${character}Pay again`;
        const mail = receiptMail(
          staged(receipt({ name, items: [{ sku: name, quantity: 1, unitAmount: 1 }] })),
          'shop@example.com',
        ) as { text: string; to: { name: string } };
        expect(mail.to.name).toBe('Ada Pay again');
        expect(mail.text).toContain('Hello Ada Pay again,\n');
        expect(mail.text).toContain('1 × Ada Pay again  ');
      },
    );
  });

  it.each([
    'Ada\r\nBcc: eve@example.com',
    'Ada" <eve@example.com>, "',
    'Ada\n\n<script>',
    '=?utf-8?q?=0ABcc:_eve?=',
  ])(
    'goes to its customer alone, and has the headers that it always has, whatever they are called: %j',
    async (name) => {
      const items = [{ sku: name, quantity: 1, unitAmount: 1 }];
      const plain = await sent(receipt({ name: 'Ada' }));
      const wicked = await sent(receipt({ name, items }));
      expect(wicked.envelope).toEqual({ from: 'shop@example.com', to: ['ada@example.com'] });
      expect(wicked.headers).toEqual(plain.headers);
    },
  );

  it('is staged once for each order, in the order of what happens to it', () => {
    expect(receiptFor('acme', receipt())).toMatchObject({
      tenantId: 'acme',
      topic: 'receipt',
      dedupeKey: 'receipt:ord_1',
      orderingKey: 'ord_1',
    });
  });
});

describe('The receipt of a refund', () => {
  const message = refundReceiptFor('acme', {
    refundId: 're_1',
    chargeId: 'ch_1',
    orderId: 'ord_1',
    amount: 1250,
    currency: 'eur',
    email: 'ada@example.com',
    name: 'Ada',
  });
  const mail = receiptMail(
    { ...message, id: 'msg_1', sequence: 1, createdAt: STAGED_AT, attempts: 1 },
    'Shop <shop@example.com>',
  ) as { subject: string; text: string; html: string; messageId: string };

  it('says what went back, and of what', () => {
    expect(mail.subject).toBe('Your refund: 12.50 EUR');
    expect(mail.text).toBe(`Hello Ada,

We have refunded your payment. Your bank may take some days to show it.

-------------------
Refunded  12.50 EUR

Order:  ord_1
Charge: ch_1
Refund: re_1
Date:   2026-02-03 04:05 UTC
`);
    for (const words of ['Hello Ada,', 'Refunded', '12.50 EUR', 'Refund: re_1'])
      expect(mail.html).toContain(words);
    expect(mail.html).not.toContain('received your payment');
  });

  it('is one for each refund, and comes after that of its order', () => {
    expect(mail.messageId).toBe('<refund-receipt.re_1.acme@example.com>');
    expect(message).toMatchObject({ dedupeKey: 'refund-receipt:re_1', orderingKey: 'ord_1' });
  });
});
