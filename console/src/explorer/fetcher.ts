import type { Client, ExecutionResult } from "graphql-ws";
import { gatewayURL } from "../api/base";
import { authorized, endSession } from "../api/session";
import type { Request } from "../logic/curl";
import { operationOf } from "../logic/operation";

/** A request's HTTP status and duration, and how many requests the key has left. */
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
 * Returns a function that sends the explorer's operations: subscriptions through the socket, everything else by POST. It
 * adds the token itself, so that no editor shows the token and no browser storage keeps it.
 */
export function newFetcher(live: Client, onOutcome: (outcome: Outcome) => void) {
  return (written: Request, options: Options = {}) => {
    // GraphiQL updates the operation's name shortly after the text, so the name may belong to an earlier text.
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
