import { stringifyDocument, type AnyVariables, type DocumentInput } from "@urql/core";
import { useEffect, useSyncExternalStore } from "react";
import type { Request } from "../logic/curl";

let asked: readonly Request[] = [];
const listeners = new Set<() => void>();

function change(next: readonly Request[]): void {
  asked = next;
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Lists an operation among the page's while its component is mounted. */
export function useAsked<Data, Variables extends AnyVariables>(document: DocumentInput<Data, Variables>, variables: Variables, pause = false): void {
  const key = JSON.stringify(variables);
  useEffect(() => {
    if (pause) return;
    const request: Request = { query: stringifyDocument(document), variables: JSON.parse(key) as Record<string, unknown> };
    change([...asked, request]);
    return () => change(asked.filter((other) => other !== request));
  }, [document, key, pause]);
}

/** The operations that read the page's data. */
export function useOperations(): readonly Request[] {
  return useSyncExternalStore(listen, () => asked);
}
