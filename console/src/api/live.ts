import { stringifyDocument, type TypedDocumentNode } from "@urql/core";
import { createClient, type Client } from "graphql-ws";
import { useEffect, useEffectEvent, useState, useSyncExternalStore } from "react";
import { useSubscription, type AnyVariables, type DocumentInput } from "urql";
import { gatewayURL } from "./base";
import { endSession } from "./session";

export type LiveStatus = "idle" | "live" | "reconnecting";

let client: Client | undefined;
let status: LiveStatus = "idle";
let reconnections = 0;
const listeners = new Set<() => void>();

function change(next: LiveStatus): void {
  status = next;
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the tab's only socket. It is open while there are subscriptions, and always reconnects. */
export function liveClient(token: string): Client {
  void client?.dispose();
  const url = gatewayURL("graphql");
  url.protocol = url.protocol.replace("http", "ws");
  client = createClient({
    url: url.href,
    lazy: true,
    lazyCloseTimeout: 2_000,
    retryAttempts: Infinity,
    keepAlive: 15_000,
    connectionParams: { Authorization: `Bearer ${token}` },
    shouldRetry: (reason) => !refused(reason),
    retryWait: (retries) => new Promise((resolve) => setTimeout(resolve, Math.min(250 * 2 ** retries, 8_000) * (0.5 + Math.random()))),
    on: {
      connected: (_socket, _payload, wasRetry) => {
        if (wasRetry) reconnections++;
        change("live");
      },
      closed: (event) => {
        if (refused(event)) endSession();
        change((event as CloseEvent).code === 1000 ? "idle" : "reconnecting");
      },
    },
  });
  return client;
}

/** With 4401 and 4403 the gateway refuses the credential, so another try changes nothing. */
function refused(reason: unknown): boolean {
  const code = reason instanceof CloseEvent ? reason.code : 0;
  return code === 4401 || code === 4403;
}

export function useLiveStatus(): LiveStatus {
  return useSyncExternalStore(listen, () => status);
}

/** Calls back after the socket has reconnected, so that the caller can read the changes that it missed. */
export function useReconnected(onReconnected: () => void): void {
  const count = useSyncExternalStore(listen, () => reconnections);
  const [known, setKnown] = useState(count);
  const reconnected = useEffectEvent(onReconnected);
  useEffect(() => {
    if (count === known) return;
    setKnown(count);
    reconnected();
  }, [count, known]);
}

/** Follows a subscription while the component is mounted. Its events bypass the cache and come one by one. */
export function useLive<Data, Variables extends Record<string, unknown>>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  onEvent: (data: Data) => void,
  paused = false,
): void {
  const receive = useEffectEvent(onEvent);
  const query = stringifyDocument(document);
  const key = JSON.stringify(variables);
  useEffect(() => {
    if (paused || !client) return;
    return client.subscribe<Data>(
      { query, variables: JSON.parse(key) as Variables },
      {
        next: ({ data }) => data && receive(data),
        error: () => undefined, // The page's own query reports errors.
        complete: () => undefined,
      },
    );
  }, [query, key, paused]);
}

/** How often followed data is read again, in milliseconds. */
const reread = 10_000;

/**
 * Subscribes until `isOver`; events update the cache. A slow response may overwrite the last event, so `refresh` is also
 * called every ten seconds.
 */
export function useFollowed<Data, Variables extends AnyVariables>(query: DocumentInput<Data, Variables>, variables: Variables, isOver: boolean, refresh: () => void): void {
  useSubscription<Data, Data, Variables>({ query, variables, pause: isOver } as never);
  const again = useEffectEvent(refresh);
  useEffect(() => {
    if (isOver) return;
    const timer = setInterval(() => again(), reread);
    return () => clearInterval(timer);
  }, [isOver]);
}
