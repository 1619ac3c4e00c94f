import { useEffect, useId, useRef, type ReactNode, type RefObject } from "react";
import styles from "./Dialog.module.css";
import { Icon } from "./Icon";

/** A modal dialog. Without onClose the user cannot close it, and with `isAlone` nothing shows behind it. */
export function Dialog({ title, onClose, isAlone, isWide, children }: {
  title: string;
  onClose?: () => void;
  isAlone?: boolean;
  /** For forms with more than a few fields. */
  isWide?: boolean;
  children: ReactNode;
}) {
  const dialog = useModal();
  const heading = useId();
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      data-alone={isAlone}
      className={isWide ? styles.wide : undefined}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      <div className={styles.header}>
        <h2 id={heading}>{title}</h2>
        {onClose && (
          <button type="button" className="quiet only" aria-label="Close" title="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </div>
      {children}
    </dialog>
  );
}

/** Opens a dialog element as a modal one while it is mounted. The browser keeps the focus inside, and returns it afterwards. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return dialog;
}
