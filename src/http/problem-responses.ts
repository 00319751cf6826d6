import type { OpenAPIObject } from '@nestjs/swagger';
import type { Problem } from './problem.js';

export type Responses = NonNullable<OpenAPIObject['paths'][string]['get']>['responses'];
type Example = Readonly<Record<string, unknown>>;

/** How an answer that is a problem is described: by problems that the service itself has made. */
interface ProblemResponse {
  readonly description: string;
  readonly headers: Record<string, object>;
  readonly content: { 'application/problem+json': { schema: object; examples: Record<string, Example> } };
}

/** One response per status, with every problem of that status as an example under its code. */
export function problemResponses(problems: readonly Problem[]): Record<string, ProblemResponse> {
  const statuses = [...new Set(problems.map(({ details }) => details.status))];
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      problemResponse(problems.filter(({ details }) => details.status === status)),
    ]),
  );
}

/** @param problems of one status, or of any for the response that stands for the rest */
export function problemResponse(problems: readonly Problem[]): ProblemResponse {
  const titles = [...new Set(problems.map(({ details }) => details.title))];
  return {
    description: `${titles.join('. Or: ')}.`,
    headers: Object.fromEntries(problems.flatMap(headersOf)),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(problems.map(exampleOf)),
      },
    },
  };
}

function exampleOf(problem: Problem): [code: string, Example] {
  return [problem.details.code, { summary: problem.details.title, value: problem.toJSON() }];
}

function headersOf({ headers }: Problem): [name: string, object][] {
  return Object.entries(headers)
    .filter(([name]) => name in HEADERS)
    .map(([name, example]) => [name, { ...HEADERS[name], example: typed(name, example) }]);
}

const typed = (name: string, value: string) => (name === 'Retry-After' ? Number(value) : value);

const HEADERS: Readonly<Record<string, { description: string; schema: object }>> = {
  'Retry-After': {
    description: 'Seconds to wait at least before the next try.',
    schema: { type: 'integer', minimum: 1 },
  },
  'Should-Retry': {
    description:
      'Whether the same request may come to something else later. It wins over any rule for the status.',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  'WWW-Authenticate': { description: 'How to authenticate.', schema: { type: 'string' } },
  Allow: { description: 'The methods that the route knows.', schema: { type: 'string' } },
};
