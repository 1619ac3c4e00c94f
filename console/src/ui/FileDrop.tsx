import { useRef, useState, type DragEvent, type ReactNode } from "react";
import styles from "./FileDrop.module.css";
import { Icon } from "./Icon";

/** A zone that takes files by drop, or by a button. `label` names the file for screen readers, `hint` says which files are accepted. */
export function FileDrop({ label, button = "Choose file", accept, hint, isMultiple, disabled, onFiles }: {
  label: string;
  button?: string;
  accept?: string;
  hint?: ReactNode;
  isMultiple?: boolean;
  disabled?: boolean;
  onFiles: (files: File[]) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent, is: boolean) => {
    event.preventDefault();
    setOver(is && !disabled);
  };
  return (
    <div
      className={styles.drop}
      data-over={isOver}
      onDragOver={(event) => over(event, true)}
      onDragLeave={(event) => over(event, false)}
      onDrop={(event) => {
        over(event, false);
        if (!disabled) onFiles([...event.dataTransfer.files].slice(0, isMultiple ? Infinity : 1));
      }}
    >
      <input
        ref={input}
        type="file"
        className="unseen"
        tabIndex={-1}
        aria-label={label}
        accept={accept}
        multiple={isMultiple}
        disabled={disabled}
        onChange={(event) => {
          const files = [...(event.target.files ?? [])];
          // The same file can be chosen again.
          event.target.value = "";
          if (files.length > 0) onFiles(files);
        }}
      />
      <button type="button" disabled={disabled} onClick={() => input.current?.click()}>
        <Icon name="doc" />
        {button}
      </button>
      <span className="muted small">or drop {isMultiple ? "files" : "it"} here{hint && <>. {hint}</>}</span>
    </div>
  );
}
