import { useState, type FormEvent } from "react";
import { askAs } from "../../api/session";
import type { Scope } from "../../logic/scopes";
import { Dialog } from "../../ui/Dialog";
import { Confirmation, ScopeChoice, Secret } from "./parts";

const create = "mutation CreateKey($input: CreateApiKeyInput!) { createApiKey(input: $input) { secret apiKey { id name } } }";
const day = 86_400_000;

/** Creates a key, authorized by another key, and shows its secret once. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const [secret, setSecret] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const [chosen, setChosen] = useState<readonly Scope[]>(["read", "write", "simulate"]);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const days = Number(form.get("days"));
    setBusy(true);
    setProblem(undefined);
    try {
      const created = await askAs<{ createApiKey: { secret: string } }>({ "X-Api-Key": String(form.get("key")).trim() }, create, {
        input: {
          name: form.get("name"),
          scopes: chosen,
          expiresAt: days > 0 ? new Date(Date.now() + days * day).toISOString() : null,
        },
      });
      setSecret(created.createApiKey.secret);
    } catch (error) {
      setProblem((error as Error).message);
    }
    setBusy(false);
  };
  if (secret) {
    return (
      <Dialog key="secret" title="Key created">
        <div className="stack">
          <p>Copy this key now. It is shown only once, and anyone with it has its permissions.</p>
          <Secret secret={secret} onClose={onClose} />
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="New key" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <div className="field">
          <label htmlFor="key-name">Name</label>
          <input id="key-name" name="name" required autoFocus placeholder="The person or program that uses it" />
        </div>
        <ScopeChoice chosen={chosen} choose={setChosen} />
        <div className="field">
          <label htmlFor="key-days">Expires</label>
          <select id="key-days" name="days" defaultValue="90">
            <option value="30">in 30 days</option>
            <option value="90">in 90 days</option>
            <option value="365">in a year</option>
            <option value="0">never</option>
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
            Create key
          </button>
        </div>
      </form>
    </Dialog>
  );
}
