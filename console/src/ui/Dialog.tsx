import { useEffect, useEffectEvent, useId, useLayoutEffect, useRef, type ReactNode, type RefObject } from "react";
import { ask, type Question } from "./asking";
import styles from "./Dialog.module.css";
import { Icon } from "./Icon";

/**
 * A modal dialog. Without onClose the user cannot close it, and with `isAlone` nothing shows behind it. It asks before it
 * closes, or the user leaves the page, over text that the user typed, unless the text was sent and not refused.
 */
export function Dialog({ title, onClose, question, isAlone, isWide, children }: {
  title: string;
  onClose?: () => void;
  /** Asked before the dialog closes, instead of the question about typed text. */
  question?: Question;
  isAlone?: boolean;
  /** For forms with more than a few fields. */
  isWide?: boolean;
  children: ReactNode;
}) {
  const heading = useId();
  const typed = useRef<HTMLInputElement>(undefined);
  const isSent = useRef(false);
  const lost = () => {
    if (question) return question;
    const field = typed.current;
    return field?.isConnected && (!isSent.current || field.form?.querySelector("[role=alert]")) ? discard : undefined;
  };
  const close = async () => {
    const asked = lost();
    if (!asked || (await ask(asked))) onClose?.();
  };
  useLeaving(lost, () => onClose?.());
  const dialog = useModal(() => onClose && void close());
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      data-alone={isAlone}
      className={isWide ? styles.wide : undefined}
      onCancel={(event) => {
        event.preventDefault();
        if (onClose && event.cancelable) void close();
      }}
      onInput={({ target }) => {
        const field = target as HTMLInputElement;
        if (field.type.startsWith("text")) typed.current = field;
        isSent.current = false;
      }}
      onSubmit={() => {
        isSent.current = true;
      }}
    >
      <div className={styles.header}>
        <h2 id={heading}>{title}</h2>
        {onClose && (
          <button type="button" className="quiet only" aria-label="Close" title="Close" onClick={() => void close()}>
            <Icon name="close" />
          </button>
        )}
      </div>
      {children}
    </dialog>
  );
}

const discard = { title: "Discard your input?", text: "The dialog closes without saving it.", verb: "Discard", isDangerous: true };

/**
 * Asks the question before the user goes back or forward, and before the page unloads. Browsers have their own question
 * before a page unloads. `onLeave` is called before the user goes back or forward after all.
 */
function useLeaving(question: () => Question | undefined, onLeave: () => void): void {
  const asked = useEffectEvent(question);
  const leave = useEffectEvent(onLeave);
  useEffect(() => {
    let isSure = false;
    const onUnload = (event: BeforeUnloadEvent) => asked() && event.preventDefault();
    const onNavigate = async (event: NavigateEvent) => {
      const now = asked();
      if (event.navigationType !== "traverse" || !event.cancelable || !now) return;
      if (!isSure) event.preventDefault();
      isSure = !isSure && (await ask(now));
      if (!isSure) return;
      leave();
      navigation.traverseTo(event.destination.key);
    };
    addEventListener("beforeunload", onUnload);
    // Older browsers have no window.navigation.
    window.navigation?.addEventListener("navigate", onNavigate);
    return () => {
      removeEventListener("beforeunload", onUnload);
      window.navigation?.removeEventListener("navigate", onNavigate);
    };
  }, []);
}

/**
 * Opens a dialog element as a modal one while it is mounted. The first field of its form gets the focus, or the
 * button with `data-first`. The browser keeps the focus inside, and returns it afterwards. Browsers close a dialog on a
 * second Escape, even if the first was canceled: it opens again, and `onForced` is called.
 */
export function useModal(onForced?: () => void): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  const forced = useEffectEvent(() => onForced?.());
  // A layout effect ends while the element is still in the document. Otherwise the browser would not return the focus.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (!element) return;
    const open = () => {
      element.showModal();
      element.querySelector<HTMLElement>("form :is(input, select, textarea), [data-first]")?.focus();
    };
    const reopen = () => {
      open();
      forced();
    };
    open();
    element.addEventListener("close", reopen);
    return () => {
      element.removeEventListener("close", reopen);
      element.close();
    };
  }, []);
  return dialog;
}
