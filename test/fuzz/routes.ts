import { readFileSync } from 'node:fs';

export type Schema = Readonly<Record<string, any>>;

export interface Parameter {
  readonly in: 'path' | 'query' | 'header';
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
}

/** A route as docs/openapi.json tells of it. */
export interface Route {
  /** `POST /v1/orders` */
  readonly name: string;
  readonly method: string;
  /** `/v1/orders/{id}` */
  readonly path: string;
  /** Whom it serves: a tenant's API key, an operator's token, or whoever signs what is sent. */
  readonly door: 'bearer' | 'operator' | 'signature';
  readonly parameters: readonly Parameter[];
  readonly body: Schema | undefined;
}

const description = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));

/** Every route of the description: one that is new is met without anybody thinking of it. */
export const ROUTES: readonly Route[] = Object.entries<any>(description.paths).flatMap(([path, methods]) =>
  Object.entries<any>(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    door: doorOf(operation.security[0]),
    parameters: operation.parameters ?? [],
    body: operation.requestBody?.content['application/json'].schema,
  })),
);

function doorOf(security: object | undefined): Route['door'] {
  if (!security) return 'signature';
  return 'operator' in security ? 'operator' : 'bearer';
}

export function takesKey({ parameters }: Route): boolean {
  return parameters.some(({ name }) => name === 'Idempotency-Key');
}

/** Follows a `$ref`. */
export function resolved(schema: Schema): Schema {
  const [, name] = /^#\/components\/schemas\/(\w+)$/.exec(schema['$ref'] ?? '') ?? [];
  return name ? description.components.schemas[name] : schema;
}

/** What an `{id}` in a path names, by the word before it. */
const KINDS: Readonly<Record<string, string>> = {
  orders: 'ord',
  charges: 'ch',
  refunds: 're',
  reviews: 'rev',
  'dead-letters': 'msg',
};

/** @returns the prefix of the ids that stand at `{id}`; undefined where there is none @throws where nobody has said which */
export function kindOfId({ path }: Pick<Route, 'path'>): string | undefined {
  const [, word] = /\/([\w-]+)\/\{id\}/.exec(path) ?? [];
  if (word === undefined) return undefined;
  const kind = KINDS[word];
  if (!kind) throw new Error(`Say in KINDS which ids stand at {id} of ${path}`);
  return kind;
}
