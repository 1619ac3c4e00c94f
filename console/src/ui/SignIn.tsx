import { useState, type FormEvent } from "react";
import { signIn } from "../api/session";
import { Dialog } from "./Dialog";

/** Whether the key would cross a network unencrypted. */
const isOpen = location.protocol !== "https:" && !["127.0.0.1", "localhost", "[::1]"].includes(location.hostname);

/** Asks for an API key, over the current page. */
export function SignIn({ ended, hint }: { ended: boolean; hint?: string }) {
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = new FormData(event.currentTarget).get("key");
    setBusy(true);
    setProblem(undefined);
    try {
      await signIn(String(key).trim());
    } catch (error) {
      setProblem(error instanceof TypeError ? "The server is unreachable." : (error as Error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title={ended ? "Your session has ended" : "Sign in to agentgraph"} isAlone={!ended}>
      <form className="stack" onSubmit={submit}>
        {ended && <p>Your input is kept. Sign in again to continue.</p>}
        {hint && <p className="note warn">{hint}</p>}
        {isOpen && <p className="note warn">This page is not encrypted: anyone between you and the server can read the key.</p>}
        <div className="field">
          <label htmlFor="key">API key</label>
          <input id="key" name="key" type="password" autoComplete="current-password" required autoFocus spellCheck={false} />
        </div>
        {problem && (
          <p className="note bad" role="alert">
            {problem}
          </p>
        )}
        <div className="row">
          <button type="submit" className="primary" disabled={isBusy}>
            {isBusy ? "Signing in…" : "Sign in"}
          </button>
          <span className="muted small">The session lasts 12 hours in this tab. The key is not stored.</span>
        </div>
        <p className="muted small">
          <code>agentgraph keys create</code> creates a key. <code>agentgraph dev</code> prints a sign-in link.
        </p>
      </form>
    </Dialog>
  );
}
