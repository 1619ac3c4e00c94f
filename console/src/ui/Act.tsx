import type { ComponentProps } from "react";
import { signedIn } from "../api/session";
import { holds, type Scope } from "../logic/scopes";

/** Whether the session has the scope, or one that includes it. */
export function may(scope: Scope): boolean {
  return holds(signedIn().session?.scopes ?? [], scope);
}

/** A button that needs a scope. Without the scope it is disabled and says why. */
export function Act({ scope, children, disabled, ...rest }: { scope: Scope } & ComponentProps<"button">) {
  const allowed = may(scope);
  return (
    <button type="button" {...rest} disabled={disabled || !allowed} title={allowed ? rest.title : `Your key lacks the scope ${scope}`}>
      {children}
      {!allowed && <span className="unseen"> (your key lacks the scope {scope})</span>}
    </button>
  );
}
