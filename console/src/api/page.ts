import { createRequest, type AnyVariables, type CombinedError, type DocumentInput, type OperationContext } from "@urql/core";
import { useEffect, useEffectEvent, useRef, useState, type RefObject } from "react";
import { useMutation, useQuery } from "urql";
import { useLocation } from "wouter";
import { useAsked } from "./operations";

export interface Answer<Data> {
  data: Data | undefined;
  /** The data belongs to earlier variables: the current ones are still loading, or failed. */
  isOld: boolean;
  error: CombinedError | undefined;
  refresh: () => void;
}

/**
 * Reads a page's data. `onFocus` reads it again whenever the tab becomes visible; `isFresh` bypasses the cache. When the
 * variables change, the old data disappears, so that nobody acts on the wrong object. `keeps` shows it until the new data
 * has loaded. Use it for filtered lists whose rows have their own actions, and for objects that another key can read
 * only in part.
 */
export function usePage<Data, Variables extends AnyVariables>(
  query: DocumentInput<Data, Variables>,
  variables: Variables,
  options: { pause?: boolean; onFocus?: boolean; isFresh?: boolean; keeps?: boolean } = {},
): Answer<Data> {
  const requestPolicy = options.isFresh ? "network-only" : undefined;
  const [result, execute] = useQuery<Data, Variables>({ query, variables, pause: options.pause, requestPolicy } as never);
  useAsked(query, variables, options.pause);
  const { key } = createRequest(query, variables);
  // Until there is an answer, the result still belongs to the previous variables.
  const isAnswer = result.operation?.key === key;
  // A failure must not remove the data on the page, or the text that the user is writing.
  const [kept, keep] = useState<{ key: number; data: Data }>();
  if (isAnswer && result.data && (result.data !== kept?.data || key !== kept.key)) keep({ key, data: result.data });
  const isOld = kept !== undefined && kept.key !== key;
  const refresh = () => execute({ requestPolicy: "network-only" });
  const { onFocus, pause } = options;
  useEffect(() => {
    if (!onFocus || pause) return;
    const look = () => document.visibilityState === "visible" && execute({ requestPolicy: "network-only" });
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [onFocus, pause, execute]);
  return { data: isOld && !options.keeps ? undefined : kept?.data, isOld, error: isAnswer ? result.error : undefined, refresh };
}

export interface Action<Data, Variables> {
  /** `onError` receives the error too, for callers that show it elsewhere. */
  run: (variables: Variables, context?: Partial<OperationContext>, onError?: (error: CombinedError) => void) => Promise<Data | undefined>;
  isBusy: boolean;
  error: CombinedError | undefined;
  /** Forgets the error. */
  reset: () => void;
}

/** Whether the gateway refused a change because somebody else saved first. If so, `reread` is called to load their version. */
export function useConflict(error: CombinedError | undefined, reread: () => void): boolean {
  const isConflict = error?.graphQLErrors.some((e) => e.extensions.code === "CONFLICT") ?? false;
  const onConflict = useEffectEvent(reread);
  useEffect(() => {
    if (isConflict) onConflict();
  }, [isConflict, error]);
  return isConflict;
}

/** A mutation. If it fails, `run` resolves with undefined and `error` says why. */
export function useAction<Data, Variables extends AnyVariables>(document: DocumentInput<Data, Variables>): Action<Data, Variables> {
  const [, execute] = useMutation<Data, Variables>(document);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<CombinedError>();
  const run = async (variables: Variables, context?: Partial<OperationContext>, onError?: (error: CombinedError) => void) => {
    setBusy(true);
    setError(undefined);
    const result = await execute(variables, context);
    setBusy(false);
    setError(result.error);
    if (result.error) onError?.(result.error);
    return result.error ? undefined : result.data;
  };
  return { run, isBusy, error, reset: () => setError(undefined) };
}

/** Whether the component is still mounted, for code that runs after a response. */
export function useHere(): RefObject<boolean> {
  const isHere = useRef(false);
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  return isHere;
}

/** Navigates to another page after a response, unless the user has left the component. */
export function useGo(): (to: string) => void {
  const [, go] = useLocation();
  const isHere = useHere();
  return (to) => {
    if (isHere.current) go(to);
  };
}

/** A new value for the header Idempotency-Key. `randomUUID` exists only on encrypted or local pages. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
