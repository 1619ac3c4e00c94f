import { sessionScopes, type Scope } from "../logic/scopes";
import { base, gatewayURL } from "./base";

/** An access token for at most twelve hours, stored for this tab only. */
export interface Session {
  token: string;
  expiresAt: string;
  scopes: Scope[];
}

/** `ended` means that the session was refused. The page is left unchanged, and a dialog over it asks for the key. */
export interface SignIn {
  session: Session | null;
  ended: boolean;
}

const name = `agentgraph:${base.pathname}`;
const sessionSeconds = 12 * 60 * 60;

let state: SignIn = { session: kept(), ended: false };
const listeners = new Set<() => void>();
const tabs = new BroadcastChannel(name);

type TabMessage = { kind: "ask" | "out" } | { kind: "session"; session: Session };

tabs.onmessage = (event: MessageEvent<TabMessage>) => {
  if (event.data.kind === "ask" && state.session && !state.ended) {
    tabs.postMessage({ kind: "session", session: state.session } satisfies TabMessage);
  } else if (event.data.kind === "session" && (!state.session || state.ended)) {
    keep(event.data.session);
  } else if (event.data.kind === "out") {
    clear();
  }
};

export function signedIn(): SignIn {
  return state;
}

export function onSignIn(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Exchanges the code in the address for a session, or else asks other tabs for theirs. The code is removed from the
 * address before anything is shown. Resolves with a hint if the code is invalid and there is no session.
 */
export async function enter(): Promise<string | undefined> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) {
    history.replaceState(null, "", location.pathname + location.search);
    const response = await fetch(new URL("session", base), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ code }),
    }).catch(() => undefined);
    if (response?.ok) {
      keep((await response.json()) as Session);
      return undefined;
    }
    if (!state.session) {
      return "This link was already used or has expired. Sign in with the API key: agentgraph dev prints it, and keeps it in the file demo-key of its data directory.";
    }
  }
  if (!state.session) tabs.postMessage({ kind: "ask" } satisfies TabMessage);
  return undefined;
}

/** Exchanges an API key for a token without the scope admin. The key itself is not stored. */
export async function signIn(key: string): Promise<void> {
  const { data, error } = await ask<{ viewer: { scopes: Scope[] } }>({ "X-Api-Key": key }, "query Viewer { viewer { scopes } }");
  if (!data) throw new Error(error?.message ?? "The server did not return the scopes of this key.");
  const scopes = sessionScopes(data.viewer.scopes);
  if (scopes.length === 0) throw new Error(`This key has only the scope ${data.viewer.scopes.join(", ")}. The console needs a key with the scope browse.`);
  const { token, expiresAt, message } = await createToken(key, scopes, sessionSeconds);
  if (!token || !expiresAt) throw new Error(message ?? "The server returned no token.");
  keep({ token, expiresAt, scopes });
}

interface NewToken {
  token?: string;
  expiresAt?: string;
  code?: string;
  message?: string;
}

/** Creates a token with the key. Neither is stored. */
export async function createToken(key: string, scopes: readonly Scope[], ttlSeconds: number): Promise<NewToken> {
  const { data, error } = await ask<{ createAccessToken: { token: string; expiresAt: string } | null }>(
    { "X-Api-Key": key },
    "mutation Token($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { token expiresAt } }",
    { input: { scopes, ttlSeconds } },
  );
  return { ...data?.createAccessToken, code: error?.extensions?.code, message: error?.message };
}

interface Asked<Data> {
  data?: Data | null;
  error?: { message: string; extensions?: { code?: string } };
}

/** Sends a query without the cache, because secrets must not be in it. */
export async function ask<Data>(
  headers: Record<string, string>,
  query: string,
  variables: Record<string, unknown> = {},
  options: RequestInit = {},
): Promise<Asked<Data>> {
  const response = await fetch(gatewayURL("graphql"), {
    ...options,
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ query, variables }),
  });
  const answer = (await response.json()) as { data?: Data | null; errors?: Asked<Data>["error"][] };
  return { data: answer.data, error: answer.errors?.[0] };
}

/** Sends the query with the headers and returns its data. Throws the error that the gateway reports. */
export async function askAs<Data>(headers: Record<string, string>, query: string, variables: Record<string, unknown> = {}): Promise<Data> {
  const { data, error } = await ask<Data>(headers, query, variables);
  if (error) throw new Error(error.message);
  return data as Data;
}

/** The headers of a request of the session. */
export function authorized(headers: Record<string, string> = {}): Record<string, string> {
  return { Authorization: `Bearer ${state.session?.token ?? ""}`, ...headers };
}

/** Marks the session as ended, because its token was refused. */
export function endSession(): void {
  if (state.session && !state.ended) change({ ...state, ended: true });
}

/** How long signing out waits for the token to be revoked, in milliseconds. */
const patience = 3_000;

/** Signs out of all tabs and revokes the token. If the gateway does not answer, the token is only deleted here. */
export async function signOut(): Promise<void> {
  tabs.postMessage({ kind: "out" } satisfies TabMessage);
  await ask(authorized(), "mutation SignOut { revokeAccessToken(input: {}) { isRevoked } }", {}, { keepalive: true, signal: AbortSignal.timeout(patience) }).catch(
    () => undefined,
  );
  clear();
}

function keep(session: Session): void {
  sessionStorage.setItem(name, JSON.stringify(session));
  change({ session, ended: false });
}

function clear(): void {
  sessionStorage.clear();
  change({ session: null, ended: false });
}

function kept(): Session | null {
  const text = sessionStorage.getItem(name);
  const session = text ? (JSON.parse(text) as Session) : null;
  return session && new Date(session.expiresAt) > new Date() ? session : null;
}

function change(next: SignIn): void {
  state = next;
  for (const listener of listeners) listener();
}
