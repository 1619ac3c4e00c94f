import { Fragment } from "react";

/** How much of a text is shown at once, in characters. */
const excerpt = 200;

/** A form's notice that somebody else saved first. The input stays. `theirs` has their changes by label, unless the page shows them. */
export function Conflict({ what, theirs, save, take }: {
  what: string;
  theirs?: Record<string, unknown>;
  save: () => void;
  take: () => void;
}) {
  return (
    <div className="note warn stack tight" role="alert">
      <strong>Somebody else changed this {what} while you were editing.</strong>
      {theirs && (
        <dl className="facts" aria-label="Their changes">
          {Object.entries(theirs).map(([label, value]) => (
            <Fragment key={label}>
              <dt>{label}</dt>
              <dd>
                <Theirs text={String(value)} />
              </dd>
            </Fragment>
          ))}
        </dl>
      )}
      <div className="row">
        <button type="button" onClick={save}>
          Overwrite with mine
        </button>
        <button type="button" onClick={take}>
          Take theirs
        </button>
        <span>or keep editing.</span>
      </div>
    </div>
  );
}

function Theirs({ text }: { text: string }) {
  if (text.length <= excerpt) return text || "nothing";
  return (
    <details>
      <summary>{text.slice(0, excerpt)}…</summary>
      {text}
    </details>
  );
}
