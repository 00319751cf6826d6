import type { OpenAPIObject } from '@nestjs/swagger';

const PROBLEM = 'application/problem+json';

/** Examples that are said once, and referred to by name. */
class SharedExamples {
  readonly byName: Record<string, unknown> = {};
  private readonly names = new Map<string, string>();

  /** Named by the code, and where several problems have one code by a number, too. */
  refer(code: string, example: unknown): { $ref: string } {
    const text = JSON.stringify(example);
    const name = this.names.get(text) ?? this.freeName(code);
    this.names.set(text, name);
    this.byName[name] = example;
    return { $ref: `#/components/examples/${name}` };
  }

  private freeName(code: string): string {
    let name = code;
    for (let number = 2; name in this.byName; number++) name = `${code}_${number}`;
    return name;
  }
}

/** Moves the examples of problems to one place: many routes have the same, and each would say them again. */
export function shareExamples(document: OpenAPIObject): OpenAPIObject {
  const shared = new SharedExamples();
  const paths = withReferences(document.paths, shared);
  return { ...document, paths, components: { ...document.components, examples: shared.byName as never } };
}

function withReferences<Value>(value: Value, shared: SharedExamples): Value {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([name, member]: [string, unknown]) => [
    name,
    name === PROBLEM ? referring(member as { examples: object }, shared) : withReferences(member, shared),
  ]);
  return Object.fromEntries(entries) as Value;
}

function referring(body: { examples: object }, shared: SharedExamples): object {
  const entries = Object.entries(body.examples);
  return {
    ...body,
    examples: Object.fromEntries(entries.map(([code, each]) => [code, shared.refer(code, each)])),
  };
}
