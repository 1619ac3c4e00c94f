import { Kind, parse, type OperationDefinitionNode } from "graphql";

/** The operation of a document that has the name or, if none has, the only one. Undefined if the document has a fault. */
export function operationOf(query: string, name: string | undefined): OperationDefinitionNode | undefined {
  try {
    const operations = parse(query).definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
    return operations.find((operation) => operation.name?.value === name) ?? (operations.length === 1 ? operations[0] : undefined);
  } catch {
    return undefined;
  }
}
