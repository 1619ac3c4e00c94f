import type { ButtonHTMLAttributes } from "react";
import { signedIn, type Scope } from "../api/session";

/** Whether the session has the scope. */
export function may(scope: Scope): boolean {
  return signedIn().session?.scopes.includes(scope) ?? false;
}

/** A button that needs a scope. Without the scope it is disabled and says why. */
export function Act({ scope, children, disabled, ...rest }: { scope: Scope } & ButtonHTMLAttributes<HTMLButtonElement>) {
  const allowed = may(scope);
  return (
    <button type="button" {...rest} disabled={disabled || !allowed} title={allowed ? rest.title : `Your key lacks the scope ${scope}`}>
      {children}
      {!allowed && <span className="unseen"> (your key lacks the scope {scope})</span>}
    </button>
  );
}
