interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  default?: unknown;
  examples?: unknown[];
}

/** Arguments for a tool to begin with: its required parameters, or all if none is required, each with an empty value. */
export function sampleArguments(parameters: unknown): Record<string, unknown> {
  const { properties = {}, required } = parameters as Schema;
  const names = required?.length ? required : Object.keys(properties);
  return Object.fromEntries(names.map((name) => [name, sample(properties[name] ?? {})]));
}

function sample(schema: Schema): unknown {
  const given = schema.examples?.[0] ?? schema.default ?? schema.enum?.[0];
  if (given !== undefined) return given;
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "number":
    case "integer":
      return 1;
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return sampleArguments(schema);
    default:
      return "";
  }
}
