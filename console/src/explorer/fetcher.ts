import type { Client, ExecutionResult } from "graphql-ws";
import { gatewayURL } from "../api/base";
import { authorized, endSession } from "../api/session";
import type { Request } from "../logic/curl";
import { operationOf } from "../logic/operation";

/** How a request went: its HTTP status and duration, and how many requests the key has left. */
export interface Outcome {
  operation: string | undefined;
  isRefused: boolean;
  status: number;
  ms: number;
  left: string | null;
  limit: string | null;
}

interface Options {
  headers?: Record<string, unknown>;
}

/**
 * Returns a function that sends what the explorer wrote. It adds the token itself, so that the token is in no editor and
 * in nothing that the browser keeps. Subscriptions go through the socket, everything else is posted.
 */
export function newFetcher(live: Client, onOutcome: (outcome: Outcome) => void) {
  return (written: Request, options: Options = {}) => {
    // GraphiQL learns the operation's name a moment after the text, so the name may be that of an earlier text.
    const operation = operationOf(written.query, written.operationName);
    const request = operation ? { ...written, operationName: operation.name?.value } : written;
    return operation?.operation === "subscription" ? live.iterate(request) : post(request, options, onOutcome);
  };
}

async function post(request: Request, options: Options, onOutcome: (outcome: Outcome) => void): Promise<ExecutionResult> {
  const start = performance.now();
  const response = await fetch(gatewayURL("graphql"), {
    method: "POST",
    headers: { ...(options.headers as Record<string, string>), ...authorized({ "Content-Type": "application/json" }) },
    body: JSON.stringify(request),
  });
  const answer = (await response.json()) as ExecutionResult;
  if (answer.errors?.some((error) => error.extensions?.code === "UNAUTHENTICATED")) endSession();
  onOutcome({
    operation: request.operationName,
    isRefused: !answer.data,
    status: response.status,
    ms: Math.round(performance.now() - start),
    left: response.headers.get("RateLimit-Remaining"),
    limit: response.headers.get("RateLimit-Limit"),
  });
  return answer;
}
