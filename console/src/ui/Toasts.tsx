import { useSyncExternalStore } from "react";
import { Icon } from "./Icon";
import { dismiss, onToasts, shownToasts } from "./toasts";
import styles from "./Toasts.module.css";

/** The messages of `toast`, newest last. */
export function Toasts() {
  const toasts = useSyncExternalStore(onToasts, shownToasts);
  return (
    <div role="status" className={styles.toasts}>
      {toasts.map(({ id, text, isError, undo }) => (
        <div key={id} className={styles.toast} data-s={isError ? "failed" : "passed"}>
          <span className={styles.glyph}>
            <Icon name={isError ? "failed" : "passed"} />
          </span>
          <span>{text}</span>
          {undo && (
            <button
              type="button"
              className="quiet"
              onClick={() => {
                dismiss(id);
                undo();
              }}
            >
              Undo
            </button>
          )}
          <button type="button" className="quiet only" aria-label="Close message" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
