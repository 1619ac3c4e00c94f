import { useEffect, useId, useRef, type ReactNode, type RefObject } from "react";
import styles from "./Dialog.module.css";

/** A modal dialog. Without onClose the user cannot close it, and with `isAlone` nothing shows behind it. */
export function Dialog({ title, onClose, isAlone, children }: { title: string; onClose?: () => void; isAlone?: boolean; children: ReactNode }) {
  const dialog = useModal();
  const heading = useId();
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      data-alone={isAlone}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      <div className={styles.header}>
        <h2 id={heading}>{title}</h2>
        {onClose && (
          <button type="button" className="plain" onClick={onClose}>
            Close
          </button>
        )}
      </div>
      {children}
    </dialog>
  );
}

/** Opens a dialog element as a modal one while it is mounted. The browser keeps the focus inside, and gives it back. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return dialog;
}
