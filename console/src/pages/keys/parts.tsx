import { useState } from "react";
import { scopes, type Scope } from "../../logic/scopes";

/** Chooses scopes. `chat` cannot be combined. */
export function ScopeChoice({ chosen, choose, without = [] }: { chosen: readonly Scope[]; choose: (scopes: readonly Scope[]) => void; without?: readonly Scope[] }) {
  const toggle = (scope: Scope) => {
    if (chosen.includes(scope)) choose(chosen.filter((other) => other !== scope));
    else choose(scope === "chat" ? ["chat"] : [...chosen.filter((other) => other !== "chat"), scope]);
  };
  const offered = Object.entries(scopes).filter(([scope]) => !without.includes(scope as Scope));
  return (
    <fieldset className="stack tight">
      <legend>Scopes</legend>
      {offered.map(([scope, meaning]) => (
        <label key={scope} className="check">
          <input type="checkbox" name="scope" value={scope} checked={chosen.includes(scope as Scope)} onChange={() => toggle(scope as Scope)} />
          <span>
            <strong>{scope}</strong> <span className="muted">{meaning}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** A field for the key itself, which authorizes actions that no session may do. */
export function Confirmation() {
  return (
    <div className="field">
      <label htmlFor="key-confirm">Confirm with your API key</label>
      <input id="key-confirm" name="key" type="password" autoComplete="current-password" required spellCheck={false} />
    </div>
  );
}

/** A secret, shown once. Only its button closes the dialog, so that no key does by mistake. Browsers allow the clipboard only on encrypted or local pages. */
export function Secret({ secret, onClose }: { secret: string; onClose: () => void }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <>
      <pre className="note" data-secret>
        {secret}
      </pre>
      <div className="row">
        {window.isSecureContext && (
          <button type="button" className="primary" data-first onClick={() => void navigator.clipboard.writeText(secret).then(() => setCopied(true))}>
            {isCopied ? "Copied" : "Copy"}
          </button>
        )}
        <button type="button" onClick={onClose}>
          I have saved it
        </button>
      </div>
    </>
  );
}
