import { useState, type FormEvent, type ReactNode } from "react";
import { askAs, createToken } from "../api/session";
import { announce } from "./announce";
import { focusTitle } from "./keepFocus";

/** How long a page keeps its token, in seconds. It is kept in memory only. */
const adminSeconds = 600;

/**
 * Reads what the console's session may never see, by a token made from a key with the scope admin. The form asks for the
 * key, and `what` names the things that it shows. `data` is undefined before that, and again once the token has expired.
 */
export function useAdmin<T>(what: string, query: string) {
  const [seen, setSeen] = useState<{ token: string; data: T }>();
  const [problem, setProblem] = useState<string>();

  const attempt = async (action: () => Promise<void>) => {
    setProblem(undefined);
    try {
      await action();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const askBy = <R,>(token: string, document: string, variables?: Record<string, unknown>) => askAs<R>({ Authorization: `Bearer ${token}` }, document, variables);
  const read = async (token: string) => setSeen({ token, data: await askBy<T>(token, query) });
  const show = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get("key")).trim();
    void attempt(async () => {
      const created = await createToken(key, ["admin"], adminSeconds);
      if (!created.token) throw new Error(created.code === "FORBIDDEN" ? `This key cannot manage ${what}: it lacks the scope admin.` : (created.message ?? "No token."));
      await read(created.token);
      focusTitle();
      announce(`${what.charAt(0).toUpperCase()}${what.slice(1)} are shown for ten minutes`);
      setTimeout(() => setSeen(undefined), adminSeconds * 1_000);
    });
  };
  return {
    data: seen?.data,
    token: seen?.token,
    problem: problem && (
      <p className="note bad" role="alert">
        {problem}
      </p>
    ),
    refresh: () => seen && attempt(() => read(seen.token)),
    /** Runs a mutation and reads again. */
    change: (mutation: string, input: object, done?: () => void) =>
      seen &&
      attempt(async () => {
        await askBy(seen.token, mutation, { input });
        done?.();
        await read(seen.token);
      }),
    form: (reason: ReactNode) => (
      <form className="card" onSubmit={show}>
        <div className="body stack">
          {reason}
          <p>
            Enter a key with the scope admin to manage {what} for ten minutes. <code>agentgraph dev</code> prints such a key at its start, and{" "}
            <code>agentgraph keys create --scope admin</code> creates one.
          </p>
          <div className="field">
            <label htmlFor="admin-key">API key</label>
            <input id="admin-key" name="key" type="password" autoComplete="current-password" required spellCheck={false} />
          </div>
          <div>
            <button type="submit" className="primary">
              Show {what} for 10 minutes
            </button>
          </div>
        </div>
      </form>
    ),
  };
}
