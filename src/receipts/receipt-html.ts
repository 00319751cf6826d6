import { html } from './html.js';
import type { Receipt } from './receipt.js';

/** Tables and inline styles, because mail programs understand little else. Nothing in it is fetched. */
export function htmlOf({ subject, greeting, news, lines, total, facts }: Receipt): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${subject}</title>
      </head>
      <body
        style="margin: 0; padding: 24px 16px; font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', sans-serif"
      >
        <table
          role="presentation"
          style="width: 100%; max-width: 520px; margin: 0 auto; border-collapse: collapse"
        >
          <tr>
            <td colspan="2" style="padding: 0 0 24px">
              <p style="margin: 0 0 8px">${greeting}</p>
              <p style="margin: 0">${news}</p>
            </td>
          </tr>
          ${lines.map(
            ({ label, amount }) =>
              html`<tr>
                <td style="padding: 8px 12px 8px 0; border-top: 1px solid #8884">${label}</td>
                <td
                  style="padding: 8px 0; border-top: 1px solid #8884; text-align: right; white-space: nowrap"
                >
                  ${amount}
                </td>
              </tr> `,
          )}
          <tr>
            <td style="padding: 12px 12px 24px 0; border-top: 2px solid #888; font-weight: 700">
              ${total.label}
            </td>
            <td
              style="padding: 12px 0 24px; border-top: 2px solid #888; font-weight: 700; text-align: right; white-space: nowrap"
            >
              ${total.amount}
            </td>
          </tr>
          ${facts.map(
            ({ label, value }) =>
              html`<tr>
                <td colspan="2" style="padding: 0; font-size: 13px; opacity: 0.7">${label}: ${value}</td>
              </tr> `,
          )}
        </table>
      </body>
    </html> `.markup;
}
