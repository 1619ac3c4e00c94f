import { useState, type FormEvent } from "react";
import { scopes, type Scope } from "../../logic/scopes";
import { Dialog } from "../../ui/Dialog";
import { askAs } from "../Keys";

const create = "mutation CreateKey($input: CreateApiKeyInput!) { createApiKey(input: $input) { secret apiKey { id name } } }";
const day = 86_400_000;

/** Creates a key, authorized by another key, and shows its secret once. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const [secret, setSecret] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const [chosen, setChosen] = useState<readonly Scope[]>(["read"]);
  const choose = (scope: Scope) => {
    if (chosen.includes(scope)) setChosen(chosen.filter((other) => other !== scope));
    else setChosen(scope === "chat" ? ["chat"] : [...chosen.filter((other) => other !== "chat"), scope]);
  };
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const days = Number(form.get("days"));
    try {
      const made = await askAs<{ createApiKey: { secret: string } }>({ "X-Api-Key": String(form.get("key")).trim() }, create, {
        input: {
          name: form.get("name"),
          scopes: chosen,
          expiresAt: days > 0 ? new Date(Date.now() + days * day).toISOString() : null,
        },
      });
      setSecret(made.createApiKey.secret);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  if (secret) {
    return (
      <Dialog title="The new key" onClose={onClose}>
        <div className="stack">
          <p>It is shown this once. Whoever has it can do what it may.</p>
          <pre className="note" data-secret>
            {secret}
          </pre>
          <div className="row">
            {"clipboard" in navigator && (
              <button type="button" className="primary" onClick={() => void navigator.clipboard.writeText(secret)}>
                Copy
              </button>
            )}
            <button type="button" onClick={onClose}>
              I have kept it
            </button>
          </div>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="New key" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <div className="field">
          <label htmlFor="key-name">Name</label>
          <input id="key-name" name="name" required autoFocus placeholder="Who or what will use it" />
        </div>
        <fieldset className="stack tight">
          <legend>What it may do</legend>
          {Object.entries(scopes).map(([scope, meaning]) => (
            <label key={scope} className="check">
              <input type="checkbox" name="scope" value={scope} checked={chosen.includes(scope as Scope)} onChange={() => choose(scope as Scope)} />
              <span>
                <strong>{scope}</strong> <span className="muted">{meaning}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <div className="field">
          <label htmlFor="key-days">It ends after</label>
          <select id="key-days" name="days" defaultValue="90">
            <option value="30">30 days</option>
            <option value="90">90 days</option>
            <option value="365">a year</option>
            <option value="0">never</option>
          </select>
        </div>
        <div className="field">
          <label htmlFor="key-confirm">Confirm with your API key</label>
          <input id="key-confirm" name="key" type="password" autoComplete="current-password" required spellCheck={false} />
        </div>
        {problem && (
          <p className="note bad" role="alert">
            {problem}
          </p>
        )}
        <div>
          <button type="submit" className="primary" disabled={chosen.length === 0}>
            Make the key
          </button>
        </div>
      </form>
    </Dialog>
  );
}
