import { useSyncExternalStore } from "react";
import { withoutOverrides } from "../logic/names";
import { onQuestion, question } from "./asking";
import { Dialog } from "./Dialog";
import styles from "./Dialog.module.css";

/** Shows the question that `ask` asks. */
export function Ask() {
  const asked = useSyncExternalStore(onQuestion, question);
  if (!asked) return null;
  return (
    <Dialog key={asked.title} title={withoutOverrides(asked.title)} onClose={() => asked.answer(false)}>
      <p className="muted">{asked.text}</p>
      <div className={styles.actions}>
        <button type="button" className="quiet" data-first={asked.isDangerous} onClick={() => asked.answer(false)}>
          Cancel
        </button>
        <button type="button" className={asked.isDangerous ? "primary danger" : "primary"} data-first={!asked.isDangerous || undefined} onClick={() => asked.answer(true)}>
          {asked.verb}
        </button>
      </div>
    </Dialog>
  );
}
