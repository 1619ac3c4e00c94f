import type { CombinedError } from "@urql/core";
import { useId, type ReactNode } from "react";
import { faultsAt, unshownFaults } from "../logic/faults";
import { Failure } from "./states";

/** What the control of a field has to be given. */
export interface Control {
  id: string;
  name: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean | undefined;
}

/** A labelled control of a form, with what the gateway has against its value. `path` is that of the mutation's input. */
export function Field({ label, path, error, hint, children }: {
  label: ReactNode;
  path: string;
  error: CombinedError | undefined;
  hint?: ReactNode;
  children: (control: Control) => ReactNode;
}) {
  const id = useId();
  const faults = faultsAt(error, path);
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

/** The error of a form, without what stands at its fields already. */
export function FormFailure({ error, shown }: { error: CombinedError | undefined; shown: readonly string[] }) {
  if (!error) return null;
  const faults = unshownFaults(error, shown);
  if (!faults) return <Failure error={error} />;
  return (
    <div className="note bad" role="alert">
      {faults.length > 0 ? faults.join(" · ") : "Nothing was saved: see the fields marked above."}
    </div>
  );
}
