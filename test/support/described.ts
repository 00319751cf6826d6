import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { readFileSync } from 'node:fs';

interface Answered {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly contentType: string;
  readonly body: any;
}

const description = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));
const schemas = new Ajv2020({ strict: false, validateFormats: false });
schemas.addSchema(description, 'openapi.json');
const validators = new Map<string, ValidateFunction>();

/** Answered before the route is known. */
const UNROUTED = [405, 408, 414, 431];

/** Codes of the issuer and the provider: there is no end of them. */
const OPEN_CODES = [402];

/**
 * Every answer that a test gets is one that docs/openapi.json tells of: the status and the code of a problem, or the
 * shape of what came. Routes that only a test has, and what is answered before the route is known, are passed over.
 * @throws where the description does not know the answer
 */
export function expectDescribed({ method, url, status, contentType, body }: Answered): void {
  const path = pathOf(new URL(url).pathname, method);
  if (!path || UNROUTED.includes(status) || body?.code === 'sandbox_fault_invalid') return;
  const where = `${method.toUpperCase()} ${path}: ${status}`;
  const response = description.paths[path][method].responses[status];
  if (!response) throw new Error(`docs/openapi.json does not know ${where} ${body?.code}`);
  if (body === undefined) return;
  const [type] = contentType.split(';') as [string];
  if (!response.content?.[type]) throw new Error(`docs/openapi.json does not know ${type} of ${where}`);
  if (
    type.endsWith('problem+json') &&
    !OPEN_CODES.includes(status) &&
    !(body.code in response.content[type].examples)
  )
    throw new Error(`docs/openapi.json has no example of ${where} ${body.code}`);
  expectShape(['paths', path, method, 'responses', String(status), 'content', type, 'schema'], body, where);
}

function pathOf(pathname: string, method: string): string | undefined {
  const known = Object.keys(description.paths).filter((path) => method in description.paths[path]);
  const literalsFirst = known.sort((a, b) => a.split('{').length - b.split('{').length);
  return literalsFirst.find((path) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname));
}

function expectShape(pointer: readonly string[], body: unknown, where: string): void {
  const escaped = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')));
  const ref = `openapi.json#/${escaped.join('/')}`;
  const validate = validators.get(ref) ?? schemas.compile({ $ref: ref });
  validators.set(ref, validate);
  if (!validate(body))
    throw new Error(`${where} is not as docs/openapi.json has it: ${schemas.errorsText(validate.errors)}`);
}
