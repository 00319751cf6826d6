/** Markup that may go out as it is. Only `html` makes it, so that whatever else is put into a page is escaped. */
export class Html {
  constructor(readonly markup: string) {}
}

type Value = string | Html | readonly Html[];

/** html`<b>${name}</b>`: values are escaped, unless they come from `html` themselves. */
export function html(literals: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(String.raw({ raw: literals }, ...values.map(markupOf)));
}

function markupOf(value: Value): string {
  if (typeof value === 'string') return escape(value);
  return value instanceof Html ? value.markup : value.map(markupOf).join('');
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
