import type { CombinedError } from "@urql/core";
import { useId, type ReactNode } from "react";
import { faultsAt, unshownFaults } from "../logic/faults";
import { Failure } from "./states";

/** The attributes of a field's control. */
export interface Control {
  id: string;
  name: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean | undefined;
}

/** A labeled control of a form, with the gateway's faults of its value. `path` is the path in the mutation's input. */
export function Field({ label, path, error, hint, names, children }: {
  label: ReactNode;
  path: string;
  error: CombinedError | undefined;
  hint?: ReactNode;
  /** For a list: what the messages about its items begin with. */
  names?: readonly string[];
  children: (control: Control) => ReactNode;
}) {
  const id = useId();
  const faults = faultsAt(error, path, names);
  const described = [hint && `${id}-hint`, faults.length > 0 && `${id}-fault`].filter(Boolean).join(" ");
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, name: path, "aria-describedby": described || undefined, "aria-invalid": faults.length > 0 || undefined })}
      {hint && (
        <span id={`${id}-hint`} className="muted small">
          {hint}
        </span>
      )}
      {faults.length > 0 && (
        <span id={`${id}-fault`} className="fault small">
          {faults.join(" · ")}
        </span>
      )}
    </div>
  );
}

/** The error of a form, without the faults that its fields show. */
export function FormFailure({ error, shown, undone = "saved" }: { error: CombinedError | undefined; shown: readonly string[]; undone?: string }) {
  if (!error) return null;
  const faults = unshownFaults(error, shown);
  if (!faults) return <Failure error={error} />;
  return (
    <div className="note bad" role="alert">
      {faults.length > 0 ? faults.join(" · ") : `Nothing was ${undone}: see the fields marked above.`}
    </div>
  );
}
