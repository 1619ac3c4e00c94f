import type { Request } from "./curl";

/** The fragment of the explorer's address that opens an operation there. Browsers do not send fragments to servers. */
export function fragmentOf({ query, variables }: Request): string {
  const shown = variables && Object.keys(variables).length > 0 ? JSON.stringify(variables, undefined, 2) : "";
  return `#${new URLSearchParams({ query, ...(shown && { variables: shown }) }).toString()}`;
}

/** The texts of the explorer's editors in a fragment, if it holds an operation. */
export function handedOver(fragment: string): { query: string; variables: string } | undefined {
  const given = new URLSearchParams(fragment.slice(1));
  const query = given.get("query");
  return query ? { query, variables: given.get("variables") ?? "" } : undefined;
}
