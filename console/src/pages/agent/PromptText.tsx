import { useMemo } from "react";
import { promptLines } from "../../logic/promptLines";
import styles from "./PromptText.module.css";

/**
 * A text area whose text is drawn behind it, with placeholders, headings and new lines marked, so that typing, undo and
 * screen readers work natively.
 */
export function PromptText({ value, saved, fields, isReadOnly, onChange }: {
  value: string;
  saved: string;
  fields: readonly { name: string }[];
  isReadOnly: boolean;
  onChange: (value: string) => void;
}) {
  const known = new Set(fields.map((field) => field.name));
  const lines = useMemo(() => promptLines(value, saved), [value, saved]);
  return (
    <div className={styles.frame}>
      <div className={styles.back} aria-hidden="true">
        {lines.map(({ pieces, isHeading, isNew }, i) => (
          <span key={i} className={styles.line} data-heading={isHeading} data-new={isNew}>
            {pieces.map((piece, j) =>
              piece.name ? (
                <span key={j} className={styles.slot} data-known={known.has(piece.name)}>
                  {piece.text}
                </span>
              ) : (
                piece.text
              ),
            )}
          </span>
        ))}
        {"\n"}
      </div>
      <textarea aria-label="Prompt" value={value} readOnly={isReadOnly} onChange={(event) => onChange(event.target.value)} spellCheck />
    </div>
  );
}
