interface Schema {
  readonly nullable?: boolean;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly allOf?: readonly unknown[];
}

/**
 * Schemas as OpenAPI 3.1 has them, which is JSON Schema:
 *
 * - `nullable: true` is a type beside others. In 3.0 there is no right way to say "this object, or null": a reference
 *   that is nullable still has the type of what it refers to.
 * - Enums are sorted: the compiler lists a union's members as it met them, which a change in any file may change.
 *
 * @param value the description or any part of it; it is left as it is
 */
export function asJsonSchema<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(asJsonSchema) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, member]) => [name, asJsonSchema(member as unknown)]);
  return orNull(sorted(Object.fromEntries(entries) as Schema)) as Value;
}

function sorted(schema: Schema): Schema {
  return schema.enum ? { ...schema, enum: [...schema.enum].sort() } : schema;
}

function orNull({ nullable, ...schema }: Schema): object {
  if (!nullable) return schema;
  const { type, allOf, ...others } = schema;
  if (allOf) return { ...others, anyOf: [...allOf, { type: 'null' }] };
  const values = schema.enum && { enum: [...schema.enum, null] };
  return { ...others, ...(type && { type: [type, 'null'] }), ...values };
}
