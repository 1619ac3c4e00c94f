import { promptPieces } from "../../logic/placeholders";
import styles from "./PromptText.module.css";

/** A text area over the same text with colored placeholders, so that typing, undo and screen readers work natively. */
export function PromptText({ value, fields, isReadOnly, onChange }: {
  value: string;
  fields: readonly { name: string }[];
  isReadOnly: boolean;
  onChange: (value: string) => void;
}) {
  const known = new Set(fields.map((field) => field.name));
  return (
    <div className={styles.frame}>
      <div className={styles.back} aria-hidden="true">
        {promptPieces(value).map((piece, i) =>
          piece.name ? (
            <span key={i} data-known={known.has(piece.name)}>
              {piece.text}
            </span>
          ) : (
            piece.text
          ),
        )}
        {"\n"}
      </div>
      <textarea aria-label="Prompt" value={value} readOnly={isReadOnly} onChange={(event) => onChange(event.target.value)} spellCheck />
    </div>
  );
}
