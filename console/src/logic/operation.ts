import { Kind, parse, type OperationDefinitionNode } from "graphql";

/** The operation with the name or, if none has it, the document's only one. Undefined if the document is invalid. */
export function operationOf(query: string, name: string | undefined): OperationDefinitionNode | undefined {
  try {
    const operations = parse(query).definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
    return operations.find((operation) => operation.name?.value === name) ?? (operations.length === 1 ? operations[0] : undefined);
  } catch {
    return undefined;
  }
}
