import { memo, useMemo } from "react";
import { promptPieces } from "../../logic/placeholders";
import { promptLines, type PromptLine } from "../../logic/promptLines";
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
  const known = fields.map((field) => field.name).join(" ");
  const lines = useMemo(() => promptLines(value, saved), [value, saved]);
  return (
    <div className={styles.frame}>
      <div className={styles.back} aria-hidden="true">
        {lines.map((line, i) => (
          <Line key={i} {...line} known={known} />
        ))}
      </div>
      <textarea aria-label="Prompt" value={value} readOnly={isReadOnly} onChange={(event) => onChange(event.target.value)} spellCheck />
    </div>
  );
}

/**
 * A line of the drawing. It is a block and drawn again only if it changes, so that typing in a long prompt is fast. `known`
 * has the names of the fields, separated by spaces.
 */
const Line = memo(function Line({ text, isHeading, isNew, known }: PromptLine & { known: string }) {
  const names = known.split(" ");
  return (
    <div className={styles.row}>
      <span className={styles.line} data-heading={isHeading} data-new={isNew}>
        {promptPieces(text).map((piece, j) =>
          piece.name ? (
            <span key={j} className={styles.slot} data-known={names.includes(piece.name)}>
              {piece.text}
            </span>
          ) : (
            piece.text
          ),
        )}
      </span>
    </div>
  );
});
