export interface Request {
  query: string;
  variables?: Record<string, unknown>;
  operationName?: string;
}

/** A command for POSIX shells that sends the request. The key is a variable of the shell, so the command can be shared. */
export function curl(url: string, request: Request): string {
  const body = JSON.stringify({
    query: request.query,
    ...(request.variables && Object.keys(request.variables).length > 0 && { variables: request.variables }),
    ...(request.operationName && { operationName: request.operationName }),
  });
  return [
    `curl -s ${quoted(url)} -H "X-Api-Key: $AGENTGRAPH_API_KEY" -H 'Content-Type: application/json'`,
    ...(/^\s*subscription\b/.test(request.query) ? ["-N -H 'Accept: text/event-stream'"] : []),
    `-d ${quoted(body)}`,
  ].join(" \\\n  ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
