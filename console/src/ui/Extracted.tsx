import { useId } from "react";

/** The values that were extracted from a conversation, or the error. Renders nothing without either. */
export function Extracted({ values, error }: { values: Record<string, unknown> | null; error: string | null }) {
  const title = useId();
  const entries = Object.entries(values ?? {});
  if (entries.length === 0 && !error) return null;
  return (
    <section aria-labelledby={title}>
      <header>
        <h2 id={title}>Extracted data</h2>
      </header>
      <div className="stack tight">
        {error && <p className="note warn">The values could not be extracted: {error}</p>}
        <dl className="facts">
          {entries.map(([name, value]) => (
            <div key={name} style={{ display: "contents" }}>
              <dt>{name}</dt>
              <dd>{typeof value === "string" ? value : <span className="muted">not said</span>}</dd>
            </div>
          ))}
        </dl>
      </div>
    </section>
  );
}
