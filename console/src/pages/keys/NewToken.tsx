import { useState, type FormEvent } from "react";
import { createToken } from "../../api/session";
import type { Scope } from "../../logic/scopes";
import { Dialog } from "../../ui/Dialog";
import { Time } from "../../ui/Time";
import { Confirmation, ScopeChoice, Secret } from "./parts";

/** The lifetimes of tokens, by seconds. */
const lifetimes = { 900: "in 15 minutes", 3_600: "in an hour", 28_800: "in 8 hours", 86_400: "in a day" };

/** Creates a short-lived token for a program that must not store a key, and shows it once. */
export function NewToken({ onClose }: { onClose: () => void }) {
  const [made, setMade] = useState<{ token: string; expiresAt: string }>();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const [chosen, setChosen] = useState<readonly Scope[]>(["read"]);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setProblem(undefined);
    try {
      const { token, expiresAt, message } = await createToken(String(form.get("key")).trim(), chosen, Number(form.get("seconds")));
      if (token && expiresAt) setMade({ token, expiresAt });
      else setProblem(message ?? "The server returned no token.");
    } catch (error) {
      setProblem((error as Error).message);
    }
    setBusy(false);
  };
  if (made) {
    return (
      <Dialog key="secret" title="Token created">
        <div className="stack">
          <p>
            Copy this token now. It is shown only once. It expires on <Time at={made.expiresAt} />, or when its key is revoked. Send it in the
            header <code>Authorization: Bearer …</code>.
          </p>
          <Secret secret={made.token} onClose={onClose} />
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="Short-lived token" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p className="muted">It has the limits of your key, and at most its scopes. It is not listed with the keys.</p>
        <ScopeChoice chosen={chosen} choose={setChosen} without={["admin"]} />
        <div className="field">
          <label htmlFor="token-seconds">Expires</label>
          <select id="token-seconds" name="seconds" defaultValue={900}>
            {Object.entries(lifetimes).map(([seconds, text]) => (
              <option key={seconds} value={seconds}>
                {text}
              </option>
            ))}
          </select>
        </div>
        <Confirmation />
        {problem && (
          <p className="note bad" role="alert">
            {problem}
          </p>
        )}
        <div>
          <button type="submit" className="primary" disabled={isBusy || chosen.length === 0}>
            Create token
          </button>
        </div>
      </form>
    </Dialog>
  );
}
