import type { CombinedError } from "@urql/core";
import { checkKinds, checkOf, initialMore, type CheckRow } from "../../logic/checks";
import { faultsAt } from "../../logic/faults";

const none: CheckRow = { kind: "says", value: "", more: "", weight: null };

/** One row for each check. The form reads them as JSON. */
export function CheckRows({ rows, setRows, error }: { rows: CheckRow[]; setRows: (rows: CheckRow[]) => void; error: CombinedError | undefined }) {
  const change = (at: number, changes: Partial<CheckRow>) => setRows(rows.map((row, i) => (i === at ? { ...row, ...changes } : row)));
  return (
    <fieldset className="stack tight">
      <legend>Checks</legend>
      <input type="hidden" name="checks" value={JSON.stringify(rows)} />
      {rows.map((row, i) => (
        <Row key={i} row={row} number={i + 1} faults={faultsAt(error, `checks.${i}`)} change={(changes) => change(i, changes)} remove={() => setRows(rows.toSpliced(i, 1))} />
      ))}
      <div>
        <button type="button" onClick={() => setRows([...rows, none])}>
          Add a check
        </button>
      </div>
    </fieldset>
  );
}

function Row({ row, number, faults, change, remove }: {
  row: CheckRow;
  number: number;
  faults: readonly string[];
  change: (changes: Partial<CheckRow>) => void;
  remove: () => void;
}) {
  const kind = checkKinds[row.kind];
  const isRead = checkOf(row) !== undefined;
  const fault = isRead ? "" : kind?.isNumber ? "Enter a number." : "This is not a JSON object.";
  // The form is not saved while a check is invalid, because an invalid check would be lost.
  const validate = (input: HTMLInputElement | null) => input?.setCustomValidity(fault);
  return (
    <div className="row top">
      <div className="field">
        <select aria-label={`Check ${number} expects`} value={row.kind} onChange={(event) => change({ kind: event.target.value, value: "", more: initialMore(event.target.value) })}>
          {Object.entries(checkKinds).map(([name, { label }]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </div>
      <div className="field">
        {kind?.options ? (
          <select aria-label={`Check ${number}: ${kind.value}`} value={row.value} required onChange={(event) => change({ value: event.target.value })}>
            <option value="">…</option>
            {kind.options.map((option) => (
              <option key={option}>{option}</option>
            ))}
          </select>
        ) : (
          <input ref={kind?.isNumber ? validate : undefined} aria-label={`Check ${number}: ${kind?.value}`} placeholder={kind?.value} inputMode={kind?.isNumber ? "decimal" : undefined} required={!kind?.member} value={row.value} onChange={(event) => change({ value: event.target.value })} />
        )}
        {kind?.more && (
          <input ref={validate} className="mono" aria-label={`Check ${number}: further conditions, as JSON`} aria-invalid={!isRead || undefined} placeholder={kind.more} title={`Further conditions, as JSON, such as ${kind.more}`} value={row.more} onChange={(event) => change({ more: event.target.value })} />
        )}
        {fault && <span className="fault small">{fault}</span>}
        {faults.length > 0 && <span className="fault small">{faults.join(" · ")}</span>}
      </div>
      <Weight label={`Weight of check ${number}`} value={row.weight} change={(weight) => change({ weight })} />
      <button type="button" className="plain" onClick={remove}>
        Remove<span className="unseen"> check {number}</span>
      </button>
    </div>
  );
}

/** The weight of a check or a criterion; empty if it is required. */
export function Weight({ label, value, change }: { label: string; value: number | null; change: (weight: number | null) => void }) {
  return (
    <input
      type="number" min={1} max={100} aria-label={label} placeholder="must" title="Weight, 1 to 100; empty if the check is required" size={8}
      value={value ?? ""} onChange={(event) => change(event.target.value ? Number(event.target.value) : null)}
    />
  );
}
