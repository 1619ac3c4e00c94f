import { useEffect, useId, useRef, type ReactNode } from "react";
import styles from "./Dialog.module.css";

/** A modal dialog. Without onClose the user cannot close it. */
export function Dialog({ title, onClose, children }: { title: string; onClose?: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      <header className={styles.header}>
        <h2 id={heading}>{title}</h2>
        {onClose && (
          <button type="button" className="plain" onClick={onClose}>
            Close
          </button>
        )}
      </header>
      {children}
    </dialog>
  );
}
