import { readFileSync } from 'node:fs';

/** What the tests look at of Postman's format. Source: https://schema.getpostman.com/json/collection/v2.1.0/. */
export interface Item {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly request?: Request;
  readonly event?: readonly Script[];
  readonly item?: readonly Item[];
}

export interface Request {
  readonly method: string;
  /** Text in our collection, taken apart in one that was converted. */
  readonly url: string | { readonly path: readonly string[] };
  readonly description?: string;
  readonly header: readonly { readonly key: string; readonly value: string }[];
}

interface Script {
  readonly listen: 'prerequest' | 'test';
  readonly script: { readonly exec: readonly string[] };
}

export interface Variable {
  readonly key: string;
  readonly value: string;
}

export interface Collection {
  readonly info: { readonly name: string; readonly description: string; readonly schema: string };
  readonly event: readonly Script[];
  readonly variable: readonly Variable[];
  readonly item: readonly Item[];
}

export function readCollection(): Collection {
  return JSON.parse(readFileSync('postman/checkout.postman_collection.json', 'utf8')) as Collection;
}

export function readEnvironment(): Record<string, string> {
  const file = readFileSync('postman/sandbox.postman_environment.json', 'utf8');
  const { values } = JSON.parse(file) as { values: readonly Variable[] };
  return Object.fromEntries(values.map(({ key, value }) => [key, value]));
}

/** Folders and requests, each before what is in it. */
export function everyItem(items: readonly Item[]): Item[] {
  return items.flatMap((item) => [item, ...everyItem(item.item ?? [])]);
}

export function everyRequest({ item }: Pick<Collection, 'item'>): (Item & { readonly request: Request })[] {
  return everyItem(item).filter((each): each is Item & { request: Request } => each.request !== undefined);
}

export function scriptOf({ event = [] }: Pick<Item, 'event'>, listen: Script['listen']): string {
  return event
    .filter((each) => each.listen === listen)
    .flatMap(({ script }) => script.exec)
    .join('\n');
}
