import { useEffect, useRef, type ReactNode } from "react";
import styles from "./Menu.module.css";

/** A button that opens a list of further actions. It closes on a choice, on Escape, and when something else is clicked. */
export function Menu({ label, button, isUp, className = "", children }: {
  /** The name of the button, unless its content has words. */
  label?: string;
  button: ReactNode;
  /** Whether the list opens upwards. */
  isUp?: boolean;
  className?: string;
  children: ReactNode;
}) {
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const element = details.current;
    const close = () => element?.removeAttribute("open");
    const onClick = (event: Event) => {
      const target = event.target as HTMLElement;
      if (!element?.open || (element.contains(target) && !target.closest("[data-menu] :is(a, button:not([data-stays]))"))) return;
      if (element.contains(target)) element.querySelector("summary")?.focus();
      close();
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || !element?.open) return;
      close();
      element.querySelector("summary")?.focus();
    };
    // This runs before a dialog opens, which returns the focus to the button of the list when it closes.
    document.addEventListener("click", onClick, true);
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("click", onClick, true);
      document.removeEventListener("keydown", onKey);
    };
  }, []);
  return (
    <details ref={details} className={`${styles.menu} ${className}`}>
      <summary aria-label={label} title={label}>
        {button}
      </summary>
      <div data-menu data-up={isUp}>
        {children}
      </div>
    </details>
  );
}
