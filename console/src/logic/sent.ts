/** The beginnings and ends of the errors of calls that the gateway refused before it sent anything. */
const unsent = new RegExp(
  [
    "^the arguments (are|have) ",
    '^there is no tool "',
    "^(side effects are denied|this tool must not be called|a person did not approve|a person must approve)\\b.*\\bso nothing was done",
    "^the tool has no endpoint",
    "^the MCP server no longer offers",
    "^no telephony provider is configured",
    "^the contact has been transferred already",
    "^an earlier transfer may have happened",
    "^the turn ended before the call did",
    "^the address of .* is not valid$",
  ].join("|"),
);

/** Whether a call that was not mocked left the gateway. Its error is null if it did not fail. */
export function wasSent(error: string | null | undefined): boolean {
  return !error || !unsent.test(error);
}
